# Topics and their settings (book 2, §7.2 and §7.3; statements 34 to 37), on three brokers.

bin/kafka-topics.sh --create --zookeeper $ZOOKEEPER --partitions 6 --replication-factor 3 --topic many --config delete.retention.ms=259200000
#> Created topic "many".

bin/kafka-topics.sh --create --zookeeper $ZOOKEEPER --topic placed --replica-assignment 0:1,1:2,0:2,1:2
#> Created topic "placed".

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic placed
#> Topic:placed	PartitionCount:4	ReplicationFactor:2	Configs:
#> 	Topic: placed	Partition: 0	Leader: 0	Replicas: 0,1	Isr: 0,1
#> 	Topic: placed	Partition: 1	Leader: 1	Replicas: 1,2	Isr: 1,2
#> 	Topic: placed	Partition: 2	Leader: 0	Replicas: 0,2	Isr: 0,2
#> 	Topic: placed	Partition: 3	Leader: 1	Replicas: 1,2	Isr: 1,2

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --list | grep -x 'many\|placed'
#> many
#> placed

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --alter --partitions 10 --topic placed
#> WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages will be affected
#> Adding partitions succeeded!

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --alter --partitions 3 --topic placed 2>&1 | grep -o 'The number of partitions for a topic can only be increased'
#> The number of partitions for a topic can only be increased

bin/kafka-configs.sh --zookeeper $ZOOKEEPER --alter --entity-type topics --entity-name placed --add-config cleanup.policy=compact
#> Completed Updating config for entity: topic 'placed'.

bin/kafka-configs.sh --zookeeper $ZOOKEEPER --describe --entity-type topics --entity-name placed
#> Configs for topic 'placed' are cleanup.policy=compact

# Several at once; one is taken back, and nobody restarts anything.
bin/kafka-configs.sh --zookeeper $ZOOKEEPER --alter --entity-type topics --entity-name many --add-config preallocate=true,segment.bytes=104857600
#> Completed Updating config for entity: topic 'many'.

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic many | head -1 | grep -o 'preallocate=true\|segment.bytes=104857600' | sort
#> preallocate=true
#> segment.bytes=104857600

bin/kafka-configs.sh --zookeeper $ZOOKEEPER --alter --entity-type topics --entity-name many --delete-config preallocate,delete.retention.ms
#> Completed Updating config for entity: topic 'many'.

bin/kafka-configs.sh --zookeeper $ZOOKEEPER --describe --entity-type topics --entity-name many
#> Configs for topic 'many' are segment.bytes=104857600

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --delete --topic many
#> Topic many is marked for deletion.
#> Note: This will have no impact if delete.topic.enable is not set to true.

wait_for sh -c "! bin/kafka-topics.sh --zookeeper $ZOOKEEPER --list | grep -x many"
