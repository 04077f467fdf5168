"""Operations on workers: blocks and messages."""

from prefjudge.marketplace.api.operations.operation import Operation, Params, Result
from prefjudge.marketplace.api.paging import page
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.store.store import Transaction


def _block(tx: Transaction, requester_id: str, params: Params) -> Result:
    workers.find(tx, params["WorkerId"])
    workers.block(tx, requester_id, params["WorkerId"], params["Reason"])
    return {}


def _unblock(tx: Transaction, requester_id: str, params: Params) -> Result:
    workers.find(tx, params["WorkerId"])
    workers.unblock(tx, requester_id, params["WorkerId"])
    return {}


def _list_blocks(tx: Transaction, requester_id: str, params: Params) -> Result:
    found, about = page(
        tx,
        workers.Block,
        "blocks",
        params,
        "FROM blocks WHERE requester_id = :requester",
        requester=requester_id,
    )
    return {
        **about,
        "WorkerBlocks": [{"WorkerId": one.worker_id, "Reason": one.reason} for one in found],
    }


def _notify(tx: Transaction, requester_id: str, params: Params) -> Result:
    failures = []
    for worker_id in params["WorkerIds"]:
        problem = workers.tell(tx, requester_id, worker_id, params["Subject"], params["MessageText"])
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
