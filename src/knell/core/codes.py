"""The codes of warnings and refusals: programs branch on the code, people read the text beside it.

Each has a name and a meaning; the reference page prints this table.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

_KNOWN: "dict[str, Code]" = {}


class _Meaning:
    """One line of the table below: it becomes the code of its name.

    An enum does the same, and to make one of a hundred members takes longer than `list` may."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __set_name__(self, owner: "type[Code]", name: str) -> None:
        code = str.__new__(owner, name.lower())
        code.name, code.meaning = name, self._text
        setattr(owner, name, _KNOWN.setdefault(code, code))

    if TYPE_CHECKING:

        def __get__(self, _: Any, owner: "type[Code]") -> "Code": ...


class Code(str):
    """A word such as `agent_not_found`, which is its name in small letters."""

    __slots__ = ("meaning", "name")
    name: str
    meaning: str

    @staticmethod
    def every() -> "tuple[Code, ...]":
        return tuple(_KNOWN.values())

    @staticmethod
    def named(word: str) -> "Code":
        """OTHER for the code of a newer knell, in a receipt that it wrote."""
        return _KNOWN.get(word, Code.OTHER)

    # -- the request ------------------------------------------------------------------------
    BAD_REQUEST = _Meaning("The request cannot be understood, or contradicts itself.")
    BAD_PARAMETER = _Meaning("A tool or JSON command does not have or take that argument.")
    BAD_SETTINGS = _Meaning("A settings file or variable has a value that cannot be used.")
    BAD_HOOK_FILE = _Meaning("Another program's settings file cannot be edited safely.")
    NO_TARGET = _Meaning("The verb needs at least one target.")
    AGENT_NOT_FOUND = _Meaning("No agent has that name.")
    GROUP_NOT_FOUND = _Meaning("No agent has that tag, team or session.")
    AMBIGUOUS = _Meaning("The target means more than one agent.")
    NEEDS_YES = _Meaning("The request ends or deletes so much that it needs --yes.")
    NOT_INSIDE_AN_AGENT = _Meaning("The verb means its caller, which is no agent.")

    # -- who asks, and for what -----------------------------------------------------------------
    CALLER_UNPROVEN = _Meaning("It is not proven who asks, so nothing is done.")
    NOT_ALLOWED = _Meaning("The caller may not do this to that agent.")
    ONLY_THE_LEADER = _Meaning("Only the leader of the team may do this.")
    LEADER_STAYS = _Meaning("The leader of a team is not ended or removed this way.")
    RUNS_THIS_COMMAND = _Meaning("The target is the caller itself or an ancestor of it.")
    NOT_OURS = _Meaning("The process does not belong to any agent of knell.")
    NEVER_AN_AGENT = _Meaning("The process is init, a kernel thread or a zombie.")
    ALREADY_OURS = _Meaning("The process belongs to another live agent already.")
    ON_ANOTHER_HOST = _Meaning("The agent runs on another host and is managed there.")
    INSIDE_AN_AGENT = _Meaning("The command must be started outside of every agent.")

    # -- the state of an agent --------------------------------------------------------------
    STILL_RUNNING = _Meaning("The agent must end before this can be done.")
    NOT_RUNNING = _Meaning("The agent has ended.")
    WATCH_OFF = _Meaning("No watch runs on this host, or it has made no round yet.")
    NEVER_ENDED = _Meaning("The agent has no receipt, because none of its runs has ended.")
    NO_RECORD = _Meaning("The agent has no earlier run to start from.")
    NOT_RESUMABLE = _Meaning("The conversation cannot be continued.")
    CONVERSATION_UNSURE = _Meaning("It is not surely known which conversation is the agent's.")
    CONVERSATION_IN_USE = _Meaning("Another agent or process is in that conversation now.")
    NO_TERMINAL = _Meaning("The agent needs a terminal, and there is none that it may use.")
    NEEDS_PROMPT = _Meaning("An agent without a terminal continues only with a next prompt.")
    ENDING_UNFINISHED = _Meaning("The ending was begun and has not finished yet.")
    NOT_ENDED = _Meaning("Something of the agent is still alive, so the next step was not done.")
    ALREADY_WATCHED = _Meaning("Another process watches this host.")

    # -- teams, tasks, shutdown requests ----------------------------------------------------
    TEAM_NOT_FOUND = _Meaning("There is no such team, or it was dissolved.")
    TEAM_EXISTS = _Meaning("A team of that name exists already.")
    IN_ANOTHER_TEAM = _Meaning("The agent belongs to another team.")
    NOT_IN_TEAM = _Meaning("The agent does not belong to the team.")
    TEAM_IS_EMPTY = _Meaning("The team has no other member.")
    TASK_NOT_FOUND = _Meaning("There is no such task.")
    TASK_EXISTS = _Meaning("A task with that id exists already.")
    TASK_TAKEN = _Meaning("Another agent has taken the task.")
    TASK_NOT_YOURS = _Meaning("The caller's claim on the task is not the current one.")
    TASK_NEEDED = _Meaning("Another task needs this one.")
    TASK_CYCLE = _Meaning("The task would need itself.")
    TASK_NOT_READY = _Meaning("The task needs another one that is not done yet.")
    REQUEST_NOT_FOUND = _Meaning("There is no such shutdown request.")
    REQUEST_CLOSED = _Meaning("The shutdown request was answered or withdrawn already.")
    NOT_ASKED = _Meaning("The agent was not asked to leave.")
    IN_SHUTDOWN = _Meaning("The agent was asked to leave already.")

    # -- the machine ------------------------------------------------------------------------
    LAUNCH_FAILED = _Meaning("The program could not be started.")
    LAUNCH_TIMEOUT = _Meaning("The program was not seen alive in time.")
    PLACE_FAILED = _Meaning("The terminal program refused or did not answer.")
    PLACE_GONE = _Meaning("The terminal program has ended.")
    PLACE_SILENT = _Meaning("The terminal program did not answer in time.")
    PORT_TAKEN = _Meaning("The server cannot listen on that port.")
    BACKEND_FAILED = _Meaning("The shared server of the project cannot be used.")
    STORE_FAILED = _Meaning("The store cannot be opened, read or written.")
    STORE_DAMAGED = _Meaning("The store is not what knell left: `doctor --repair` rebuilds it.")
    REGISTRY_FAILED = _Meaning("The registry file cannot be read or written.")
    FILE_FAILED = _Meaning("A file cannot be read or replaced, or is not there.")
    GIT_FAILED = _Meaning("Git refused or could not do it.")

    # -- warnings of a receipt --------------------------------------------------------------
    STORE_NOT_WRITTEN = _Meaning("The ending stands, but the store was not written.")
    RECORD_IN_RUN_DIRECTORY = _Meaning("The run's directory keeps the record.")
    EXIT_KEYS_NOT_TYPED = _Meaning("The agent's own exit command was not typed.")
    GRACE_NOT_PASSED = _Meaning("The keeper used its own grace instead of the given one.")
    KEEPER_FAILED = _Meaning("The keeper was gone or failed; knell ended the run itself.")
    PANE_NOT_CLOSED = _Meaning("The processes are gone, but the pane is still there.")
    PANES_OF_OTHERS = _Meaning("The tmux session has other panes, which were left alone.")
    SCREEN_UNREAD = _Meaning("The last screen could not be read.")
    DAEMON_WORK = _Meaning("A shared daemon of the vendor had, or may have, work of the agent.")
    REVIVED = _Meaning("The vendor's supervisor started the conversation again.")
    BACKEND_ENDED = _Meaning("A shared server was ended while other agents used it.")
    BACKEND_WORKS_ON = _Meaning("A shared server may still work for the ended agent.")
    TASKS_NOT_RETURNED = _Meaning("The agent's tasks could not be handed back.")
    ROW_NOT_WRITTEN = _Meaning("The row in the registry file stayed as it was.")
    ROW_ALREADY_ENDED = _Meaning("The row in the registry file had ended already.")
    NOT_IN_REGISTRY = _Meaning("The registry file has no row for that session.")
    JOB_NOT_UPDATED = _Meaning("The delegated job's registry could not be written.")
    CONVERSATION_NOT_DELETED = _Meaning("The conversation is still there.")
    CONVERSATION_CHANGED = _Meaning("The program came up with another conversation.")
    CONVERSATION_UNSEEN = _Meaning(
        "The program runs, but was not seen to have loaded its conversation."
    )
    DIRECTORY_GONE = _Meaning("The agent's directory is gone; it started elsewhere.")
    LOCK_LEFT = _Meaning("Git's index.lock was left in place.")
    IGNORED_FILES = _Meaning("Files that git ignores were not saved.")
    COMMAND_FAILED = _Meaning("A JSON command failed; its answer has the contract's word.")
    NOT_TRACED = _Meaning("The command was carried out, but not written into the trail.")

    # -- what is odd about a live run -------------------------------------------------------
    ENDING_INTERRUPTED = _Meaning("The process that ended the run died on the way.")
    START_INTERRUPTED = _Meaning("The process that started the run died on the way.")
    KEEPER_GONE = _Meaning("The keeper, or an adopted agent's own process, has gone.")
    ONLY_IN_REGISTRY = _Meaning("The agent is known from the registry file alone.")
    COULD_NOT_LOOK = _Meaning("The machine did not say whether the run is alive.")

    # -- many hosts ---------------------------------------------------------------------------
    FLEET_OFF = _Meaning("This machine has not joined a fleet, or has no operator's access.")
    FLEET_FAILED = _Meaning("The fleet's database cannot be used; this host goes on alone.")
    FLEET_SCHEMA = _Meaning("The database's schema is not one that this knell can use.")
    FLEET_FILE = _Meaning("A file with the fleet's secrets is missing, unsafe or unreadable.")
    HOST_NOT_FOUND = _Meaning("No host of that name has joined the fleet.")
    HOST_TAKEN = _Meaning("Another machine has that name in the fleet.")
    PENDING = _Meaning("The order waits: its host has not answered yet.")
    ORDER_NOT_FOUND = _Meaning("The fleet has no such order.")
    ORDER_CLOSED = _Meaning("The order was taken or closed already.")
    ORDER_UNREADABLE = _Meaning("The order cannot be read, or was altered.")
    ORDER_FOREIGN = _Meaning("The order is meant for another host or fleet.")
    ORDER_EXPIRED = _Meaning("The order came too late; it is never carried out.")
    ORDER_REPLAYED = _Meaning("The order was delivered before, with another text.")
    ORDER_CANCELLED = _Meaning("The order was called off before its host took it.")
    OTHER_INCARNATION = _Meaning("The order is meant for another boot of the host.")
    ANSWER_NOT_SIGNED = _Meaning("The host has not signed what is said to be its answer.")
    KEY_NOT_TRUSTED = _Meaning("The host does not obey the key that signed the order.")
    RUN_OVER = _Meaning("The run that was meant has ended; its successor was left alone.")

    # -- servers: the page in a browser, and MCP over HTTP ------------------------------------
    BAD_METHOD = _Meaning("The server looks by GET and acts by POST; it takes nothing else.")
    CUT_SHORT = _Meaning("The request ended before its body did.")
    FOREIGN_ORIGIN = _Meaning("A page of another site may not ask this server.")
    NO_SESSION = _Meaning("The browser has no session: open the address that knell web printed.")
    NOT_FOUND = _Meaning("The server has nothing at that path.")
    NOT_JSON = _Meaning("The body of the request is not JSON.")
    PLAN_CHANGED = _Meaning("The agents are no longer as the question showed them.")
    READ_ONLY = _Meaning("The server was started to look only.")
    TOO_LARGE = _Meaning("The body of the request is too large.")
    TOO_MANY_REQUESTS = _Meaning("Too many requests are open already.")
    TOO_SLOW = _Meaning("The body of the request did not come in time.")
    UNKNOWN_HOST = _Meaning("The server does not answer to that name.")

    OTHER = _Meaning("A code that this version of knell does not know.")


class Notice(NamedTuple):
    """A warning: the code for programs, the text for people."""

    code: Code
    text: str
