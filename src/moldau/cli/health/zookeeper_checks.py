"""The ZooKeeper of a cluster: does it answer, and does it know the same cluster as the brokers."""

from __future__ import annotations

from moldau.cli.cluster_sample import ClusterNow
from moldau.cli.health.finding import Finding, bad, good, warning
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.zookeeper import connected, text_at


def check_zookeeper(connect: str, now: ClusterNow) -> list[Finding]:
    try:
        with connected(connect) as client:
            names = client.get_children("/brokers/ids") if client.exists("/brokers/ids") else []
            controller = text_at(client, "/controller")
            elects = text_at(client, "/admin/preferred_replica_election")
    except ToolFailed as error:
        return [bad("zookeeper", str(error).splitlines()[0], "start it, or name it as brokers do: zookeeper.connect")]
    findings = []
    registered, known = sorted(map(int, names)), sorted(node.id for node in now.cluster.nodes)
    if registered == known:
        findings.append(good("zookeeper", f"{connect} answers, and knows brokers {_listed(registered)}"))
    else:
        findings.append(
            bad("zookeeper", f"it knows brokers {_listed(registered)}, they know {_listed(known)}", "is it theirs?")
        )
    if controller is None:
        findings.append(bad("zookeeper", "/controller is empty: nobody is elected", "restart a broker"))
    if elects is not None:
        findings.append(warning("zookeeper", "a preferred election is under way", "wait for its end"))
    return findings


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids)) or "none"
