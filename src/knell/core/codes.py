"""The codes of warnings and refusals: programs branch on the code, people read the text beside it.

Each member is its value and what it means; the reference page prints this table.
"""

from enum import StrEnum
from typing import NamedTuple, Self


class Code(StrEnum):
    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        code = str.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    @classmethod
    def _missing_(cls, value: object) -> "Code | None":
        """The code of a newer knell, in a receipt that it wrote."""
        return cls.OTHER if isinstance(value, str) else None

    # -- the request ------------------------------------------------------------------------
    BAD_REQUEST = "bad_request", "The request cannot be understood, or contradicts itself."
    BAD_PARAMETER = "bad_parameter", "A tool or JSON command does not have or take that argument."
    BAD_SETTINGS = "bad_settings", "A settings file or variable has a value that cannot be used."
    BAD_HOOK_FILE = "bad_hook_file", "Another program's settings file cannot be edited safely."
    NO_TARGET = "no_target", "The verb needs at least one target."
    AGENT_NOT_FOUND = "agent_not_found", "No agent has that name."
    GROUP_NOT_FOUND = "group_not_found", "No agent has that tag, team or session."
    AMBIGUOUS = "ambiguous", "The target means more than one agent."
    NEEDS_YES = "needs_yes", "The request ends or deletes so much that it needs --yes."
    NOT_INSIDE_AN_AGENT = "not_inside_an_agent", "The verb means its caller, which is no agent."

    # -- who asks, and for what -----------------------------------------------------------------
    CALLER_UNPROVEN = "caller_unproven", "It is not proven who asks, so nothing is done."
    NOT_ALLOWED = "not_allowed", "The caller may not do this to that agent."
    ONLY_THE_LEADER = "only_the_leader", "Only the leader of the team may do this."
    LEADER_STAYS = "leader_stays", "The leader of a team is not ended or removed this way."
    RUNS_THIS_COMMAND = "runs_this_command", "The target is the caller itself or an ancestor of it."
    NOT_OURS = "not_ours", "The process does not belong to any agent of knell."
    NEVER_AN_AGENT = "never_an_agent", "The process is init, a kernel thread or a zombie."
    ALREADY_OURS = "already_ours", "The process belongs to another live agent already."
    ON_ANOTHER_HOST = "on_another_host", "The agent runs on another host and is managed there."
    INSIDE_AN_AGENT = "inside_an_agent", "The command must be started outside of every agent."

    # -- the state of an agent --------------------------------------------------------------
    STILL_RUNNING = "still_running", "The agent must end before this can be done."
    NOT_RUNNING = "not_running", "The agent has ended."
    WATCH_OFF = "watch_off", "No watch runs on this host, or it has made no round yet."
    NEVER_ENDED = "never_ended", "The agent has no receipt, because none of its runs has ended."
    NO_RECORD = "no_record", "The agent has no earlier run to start from."
    NOT_RESUMABLE = "not_resumable", "The conversation cannot be continued."
    CONVERSATION_UNSURE = (
        "conversation_unsure",
        "It is not surely known which conversation is the agent's.",
    )
    CONVERSATION_IN_USE = (
        "conversation_in_use",
        "Another agent or process is in that conversation now.",
    )
    NO_TERMINAL = "no_terminal", "The agent needs a terminal, and there is none that it may use."
    NEEDS_PROMPT = "needs_prompt", "An agent without a terminal continues only with a next prompt."
    ENDING_UNFINISHED = "ending_unfinished", "The ending was begun and has not finished yet."
    NOT_ENDED = "not_ended", "Something of the agent is still alive, so the next step was not done."
    ALREADY_WATCHED = "already_watched", "Another process watches this host."

    # -- teams, tasks, shutdown requests ----------------------------------------------------
    TEAM_NOT_FOUND = "team_not_found", "There is no such team, or it was dissolved."
    TEAM_EXISTS = "team_exists", "A team of that name exists already."
    IN_ANOTHER_TEAM = "in_another_team", "The agent belongs to another team."
    NOT_IN_TEAM = "not_in_team", "The agent does not belong to the team."
    TEAM_IS_EMPTY = "team_is_empty", "The team has no other member."
    TASK_NOT_FOUND = "task_not_found", "There is no such task."
    TASK_EXISTS = "task_exists", "A task with that id exists already."
    TASK_TAKEN = "task_taken", "Another agent has taken the task."
    TASK_NOT_YOURS = "task_not_yours", "The caller's claim on the task is not the current one."
    TASK_NEEDED = "task_needed", "Another task needs this one."
    TASK_CYCLE = "task_cycle", "The task would need itself."
    TASK_NOT_READY = "task_not_ready", "The task needs another one that is not done yet."
    REQUEST_NOT_FOUND = "request_not_found", "There is no such shutdown request."
    REQUEST_CLOSED = "request_closed", "The shutdown request was answered or withdrawn already."
    NOT_ASKED = "not_asked", "The agent was not asked to leave."
    IN_SHUTDOWN = "in_shutdown", "The agent was asked to leave already."

    # -- the machine ------------------------------------------------------------------------
    LAUNCH_FAILED = "launch_failed", "The program could not be started."
    LAUNCH_TIMEOUT = "launch_timeout", "The program was not seen alive in time."
    PLACE_FAILED = "place_failed", "The terminal program refused or did not answer."
    PLACE_GONE = "place_gone", "The terminal program has ended."
    PLACE_SILENT = "place_silent", "The terminal program did not answer in time."
    PORT_TAKEN = "port_taken", "The server cannot listen on that port."
    BACKEND_FAILED = "backend_failed", "The shared server of the project cannot be used."
    STORE_FAILED = "store_failed", "The store cannot be opened, read or written."
    STORE_DAMAGED = (
        "store_damaged",
        "The store is not what knell left: `doctor --repair` rebuilds it.",
    )
    REGISTRY_FAILED = "registry_failed", "The registry file cannot be read or written."
    FILE_FAILED = "file_failed", "A file cannot be read or replaced, or is not there."
    GIT_FAILED = "git_failed", "Git refused or could not do it."

    # -- warnings of a receipt --------------------------------------------------------------
    STORE_NOT_WRITTEN = "store_not_written", "The ending stands, but the store was not written."
    RECORD_IN_RUN_DIRECTORY = "record_in_run_directory", "The run's directory keeps the record."
    EXIT_KEYS_NOT_TYPED = "exit_keys_not_typed", "The agent's own exit command was not typed."
    GRACE_NOT_PASSED = "grace_not_passed", "The keeper used its own grace instead of the given one."
    KEEPER_FAILED = "keeper_failed", "The keeper was gone or failed; knell ended the run itself."
    PANE_NOT_CLOSED = "pane_not_closed", "The processes are gone, but the pane is still there."
    PANES_OF_OTHERS = "panes_of_others", "The tmux session has other panes, which were left alone."
    SCREEN_UNREAD = "screen_unread", "The last screen could not be read."
    DAEMON_WORK = (
        "daemon_work",
        "A shared daemon of the vendor had, or may have, work of the agent.",
    )
    REVIVED = "revived", "The vendor's supervisor started the conversation again."
    BACKEND_ENDED = "backend_ended", "A shared server was ended while other agents used it."
    BACKEND_WORKS_ON = "backend_works_on", "A shared server may still work for the ended agent."
    TASKS_NOT_RETURNED = "tasks_not_returned", "The agent's tasks could not be handed back."
    ROW_NOT_WRITTEN = "row_not_written", "The row in the registry file stayed as it was."
    ROW_ALREADY_ENDED = "row_already_ended", "The row in the registry file had ended already."
    NOT_IN_REGISTRY = "not_in_registry", "The registry file has no row for that session."
    JOB_NOT_UPDATED = "job_not_updated", "The delegated job's registry could not be written."
    CONVERSATION_NOT_DELETED = "conversation_not_deleted", "The conversation is still there."
    CONVERSATION_CHANGED = "conversation_changed", "The program came up with another conversation."
    CONVERSATION_UNSEEN = (
        "conversation_unseen",
        "The program runs, but was not seen to have loaded its conversation.",
    )
    DIRECTORY_GONE = "directory_gone", "The agent's directory is gone; it started elsewhere."
    LOCK_LEFT = "lock_left", "Git's index.lock was left in place."
    IGNORED_FILES = "ignored_files", "Files that git ignores were not saved."
    COMMAND_FAILED = "command_failed", "A JSON command failed; its answer has the contract's word."
    NOT_TRACED = "not_traced", "The command was carried out, but not written into the trail."

    # -- what is odd about a live run -------------------------------------------------------
    ENDING_INTERRUPTED = "ending_interrupted", "The process that ended the run died on the way."
    START_INTERRUPTED = "start_interrupted", "The process that started the run died on the way."
    KEEPER_GONE = "keeper_gone", "The keeper, or an adopted agent's own process, has gone."
    ONLY_IN_REGISTRY = "only_in_registry", "The agent is known from the registry file alone."
    COULD_NOT_LOOK = "could_not_look", "The machine did not say whether the run is alive."

    # -- many hosts ---------------------------------------------------------------------------
    FLEET_OFF = "fleet_off", "This machine has not joined a fleet, or has no operator's access."
    FLEET_FAILED = "fleet_failed", "The fleet's database cannot be used; this host goes on alone."
    FLEET_SCHEMA = "fleet_schema", "The database's schema is not one that this knell can use."
    FLEET_FILE = "fleet_file", "A file with the fleet's secrets is missing, unsafe or unreadable."
    HOST_NOT_FOUND = "host_not_found", "No host of that name has joined the fleet."
    HOST_TAKEN = "host_taken", "Another machine has that name in the fleet."
    PENDING = "pending", "The order waits: its host has not answered yet."
    ORDER_NOT_FOUND = "order_not_found", "The fleet has no such order."
    ORDER_CLOSED = "order_closed", "The order was taken or closed already."
    ORDER_UNREADABLE = "order_unreadable", "The order cannot be read, or was altered."
    ORDER_FOREIGN = "order_foreign", "The order is meant for another host or fleet."
    ORDER_EXPIRED = "order_expired", "The order came too late; it is never carried out."
    ORDER_REPLAYED = "order_replayed", "The order was delivered before, with another text."
    ORDER_CANCELLED = "order_cancelled", "The order was called off before its host took it."
    OTHER_INCARNATION = "other_incarnation", "The order is meant for another boot of the host."
    KEY_NOT_TRUSTED = "key_not_trusted", "The host does not obey the key that signed the order."
    RUN_OVER = "run_over", "The run that was meant has ended; its successor was left alone."

    OTHER = "other", "A code that this version of knell does not know."


class Notice(NamedTuple):
    """A warning: the code for programs, the text for people."""

    code: Code
    text: str
