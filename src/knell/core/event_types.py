"""The types of events in the audit trail, and what each tells: the reference is printed from it."""

EVENT_TYPES = {
    # -- the life of a run ------------------------------------------------------------------------
    "life.spawning": "A run was begun; nothing of it has been seen alive yet.",
    "life.started": "Its process was seen alive; `pid` is the agent's.",
    "life.stopping": "A caller claimed its ending: who (`by`), why (`reason`), with which outcome.",
    "life.rung": "A rung of the ladder is about to be climbed; written before the signal is sent.",
    "life.stopped": "The run has ended; `death` says how, and the receipt has the proof.",
    "life.spared": "Its ending was given up, and the run lives on; the reason is beside it.",
    "life.resurrected": "Another program started the session again after knell had ended it.",
    "run.restored": "A run was taken back into the store from its own record.",
    "store.restored": "The store was rebuilt from the records of runs and the newest backup.",
    "orphan.ended": "A process that had outlived its agent was ended by `reap`.",
    # -- conversations and worktrees --------------------------------------------------------------
    "conversation.purged": "The files of a conversation were deleted on request.",
    "conversation.guessed": "The registry file got an id that is not surely the right one.",
    "worktree.created": "A git worktree was made for an agent or a task; by which agent, if any.",
    # -- watching ---------------------------------------------------------------------------------
    "watch.verdict": "What an agent does has changed: `activity`, `why`, `policy`.",
    "health.stalled": "A JSON command of the orchestrator found an agent stalled.",
    "agent.heartbeat": "The orchestrator gave a sign of life for an agent.",
    "restart.planned": "An ended agent will be started again at `due_at`.",
    "restart.refused": "An ended agent will not be started again; `why` says which rule it was.",
    "restart.failed": "The new start was tried and failed.",
    "restart.started": "A new run took the place of the ended one.",
    # -- who may ----------------------------------------------------------------------------------
    "authority.refused": "A caller was refused; who it was and what it wanted stands beside it.",
    "authority.override": "The operator ended a member of a team that an agent leads.",
    # -- teams ------------------------------------------------------------------------------------
    "team.created": "A team was made.",
    "team.joined": "An agent became a member.",
    "team.left": "A member left, or its run ended.",
    "team.dissolved": "A team was dissolved.",
    "task.added": "A task was added to a team.",
    "task.claimed": "An agent took a task; the claim has a number.",
    "task.completed": "A task is done.",
    "task.released": "A task went back to its team.",
    "task.reassigned": "The owner of a task ended, and the task went back to its team.",
    "task.orphaned": "The tasks of an ended agent could not be handed back; `why` says it.",
    "task.deleted": "A task was deleted.",
    "message.sent": "A message was sent; its text is not in the event.",
    # -- asking an agent to leave -----------------------------------------------------------------
    "shutdown.requested": "An agent was asked to leave.",
    "shutdown.approved": "It agreed, and finishes its work.",
    "shutdown.ready": "It said that its work is finished.",
    "shutdown.rejected": "It refused, and goes on.",
    "shutdown.overdue": "It did not answer in time.",
    "shutdown.forced": "It is ended without its consent.",
    "shutdown.force_killed": "Its forced end is proven.",
    "shutdown.confirmed": "It is gone.",
    "shutdown.withdrawn": "The request was taken back.",
    # -- shared servers ---------------------------------------------------------------------------
    "server.added": "A server that several agents share was started.",
    "server.retired": "A shared server takes no more agents.",
    "server.dropped": "A shared server is gone.",
}
# Types whose second half is a name: `command.kill-stalled-agent`.
NAMED_EVENTS = {"command.": "A JSON command was carried out: who asked for what, and the result."}
