"""A tour of the admin client: cluster, topics, settings."""

from __future__ import annotations

import sys

from moldau import Admin
from moldau.clients.admin import ConfigResource, NewTopic

TOPIC = "test-topic"


def describe_cluster(admin: Admin) -> None:
    described = admin.describe_cluster()
    print(f"Cluster id: {described.cluster_id}, controller: {described.controller}")
    print("Current cluster nodes info:")
    for node in described.nodes:
        print(node)


def create_topic(admin: Admin, replication_factor: int) -> None:
    admin.create_topics([NewTopic(TOPIC, 3, replication_factor)])


def list_topics(admin: Admin) -> None:
    names = ", ".join(sorted(admin.list_topics(list_internal=True)))
    print(f"Current topics in this cluster: [{names}]")


def describe_topics(admin: Admin) -> None:
    for name, description in admin.describe_topics(sorted(admin.list_topics(list_internal=True))).items():
        print(name, description)


def alter_config(admin: Admin) -> None:
    admin.incremental_alter_configs({ConfigResource.topic(TOPIC): {"cleanup.policy": "compact"}})


def describe_config(admin: Admin) -> None:
    for resource, entries in admin.describe_configs([ConfigResource.topic(TOPIC)]).items():
        print(f"Resource type: {resource.type.name}, resource name: {resource.name}")
        for entry in entries.values():
            print(f"{entry.name} = {entry.value}")


def main(bootstrap_servers: str = "localhost:9092", replication_factor: str = "3") -> None:
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        describe_cluster(admin)
        create_topic(admin, int(replication_factor))
        list_topics(admin)
        describe_topics(admin)
        alter_config(admin)
        describe_config(admin)
        admin.delete_topics([TOPIC])


if __name__ == "__main__":
    main(*sys.argv[1:])
