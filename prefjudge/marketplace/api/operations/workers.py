"""Operations on workers: blocks and messages."""

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.people import blocks, workers
from prefjudge.marketplace.store.marketplace import Turn


def _block(turn: Turn, requester_id: str, params: Params) -> Result:
    workers.find(turn, params["WorkerId"])
    blocks.block(turn, requester_id, params["WorkerId"], params["Reason"])
    return {}


def _unblock(turn: Turn, requester_id: str, params: Params) -> Result:
    workers.find(turn, params["WorkerId"])
    blocks.unblock(turn, requester_id, params["WorkerId"])
    return {}


def _list_blocks(turn: Turn, requester_id: str, params: Params) -> Result:
    found, about = page(
        turn,
        "blocks",
        params,
        "seq, worker_id, reason",
        "FROM blocks WHERE requester_id = :requester",
        requester=requester_id,
    )
    return {
        **about,
        "WorkerBlocks": [{"WorkerId": one["worker_id"], "Reason": one["reason"]} for one in found],
    }


def _notify(turn: Turn, requester_id: str, params: Params) -> Result:
    failures = []
    for worker_id in params["WorkerIds"]:
        problem = workers.tell(turn, requester_id, worker_id, params["Subject"], params["MessageText"])
        if problem:
            failures.append(
                {
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": problem,
                    "WorkerId": worker_id,
                }
            )
    return {"NotifyWorkersFailureStatuses": failures}


OPERATIONS: dict[str, Operation] = {
    "CreateWorkerBlock": _block,
    "DeleteWorkerBlock": _unblock,
    "ListWorkerBlocks": _list_blocks,
    "NotifyWorkers": _notify,
}
