"""The errors of this package. Each says what happened and what to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from . import wire


class FerryError(Exception):
    """The base of all errors of this package. code is that of the wire, if the node has sent one."""

    code: wire.Code | None = None


class ClosedError(FerryError):
    """The client, publisher or subscription was closed."""


class ConnectionLost(FerryError):
    """The connection ended. The client connects again by itself; what was not confirmed may be lost."""


class ProtocolError(FerryError):
    """The node sent what docs/native.md does not allow."""

    code = wire.Code.PROTOCOL_ERROR


class NodeError(FerryError):
    """The node refused something. The subclass and code say why, reason is the node's own text."""

    advice = ""

    def __init__(self, what: str, code: int, reason: str = "") -> None:
        self.code = wire.Code.of(code)
        self.reason = reason
        known = self.code.name.lower().replace("_", " ") if self.code is not None else f"code {code}"
        text = f"{what}: {known}"
        if reason:
            text += f": {reason}"
        if self.advice:
            text += f" ({self.advice})"
        super().__init__(text)


class Draining(NodeError):
    advice = "the node stops; the client connects again by itself"


class Unauthenticated(NodeError):
    advice = "give the token or the client certificate of an identity of the node"


class Forbidden(NodeError):
    advice = "the identity needs this tag in publish or subscribe, or this verb, in the node's configuration"


class TooLarge(NodeError):
    advice = "send a smaller message, or raise the node's limits.max_frame"


class LimitReached(NodeError):
    advice = "a limit of the node is reached; try again later, or raise it"


class Timeout(NodeError):
    advice = "the network or the other end was too slow"


class VersionMismatch(NodeError):
    advice = "the node and this client have no version of the wire in common; update the older one"


class InvalidPayload(NodeError):
    advice = "the payload is not what its type says; check the type of the message"


class BadRequest(NodeError):
    advice = "check the tag, the filter and the predicate"


class Dropped(NodeError):
    """The node dropped messages of this client. count is how many, tag is "" if there were several tags."""

    def __init__(self, tag: str, count: int, code: int, reason: str) -> None:
        self.tag = tag
        self.count = count
        super().__init__(f"{count} messages on {tag!r} were dropped" if tag else f"{count} messages were dropped", code, reason)


_BY_CODE: dict[int, type[NodeError]] = {
    wire.Code.DRAINING: Draining,
    wire.Code.UNAUTHENTICATED: Unauthenticated,
    wire.Code.FORBIDDEN: Forbidden,
    wire.Code.TOO_LARGE: TooLarge,
    wire.Code.LIMIT_REACHED: LimitReached,
    wire.Code.TIMEOUT: Timeout,
    wire.Code.VERSION_MISMATCH: VersionMismatch,
    wire.Code.INVALID_PAYLOAD: InvalidPayload,
    wire.Code.BAD_REQUEST: BadRequest,
}


def node_error(what: str, code: int, reason: str = "") -> NodeError:
    """Returns the error for a code of the wire. what is what was refused, such as 'tag "a"'."""
    return _BY_CODE.get(code, NodeError)(what, code, reason)


class CallCode(enum.IntEnum):
    """The code of a call, which is that of gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@dataclass(frozen=True)
class Detail:
    """A detail of the code of a call: a type URL and its encoded value."""

    type_url: str
    value: bytes


class CallError(FerryError):
    """A call ended with a code other than OK. Handlers raise it to choose the code of the response.

    status is the code of gRPC, message its text. not_begun says that no handler has seen the call, so that it can be sent again.
    """

    def __init__(
        self,
        status: int,
        message: str = "",
        *,
        details: tuple[Detail, ...] = (),
        trailers: dict[str, list[str]] | None = None,
        not_begun: bool = False,
    ) -> None:
        self.status = CallCode(status) if status in CallCode._value2member_map_ else CallCode.UNKNOWN
        self.message = message
        self.details = details
        self.trailers = trailers or {}
        self.not_begun = not_begun
        name = self.status.name.lower().replace("_", " ")
        super().__init__(f"{name}: {message}" if message else name)
