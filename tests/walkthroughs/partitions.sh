# Leaders and places of partitions (book 2, §7.1 and §7.5), on three brokers that come and go.

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --create --topic led --replica-assignment 1:0:2,2:1:0,0:2:1
#> Created topic "led".

stop_broker 1
stop_broker 2
wait_for sh -c "bin/kafka-topics.sh --bootstrap-server $BROKER --describe --topic led | grep -c 'Leader: 0' | grep -x 3"
start_broker 1
start_broker 2
wait_for sh -c "bin/kafka-topics.sh --bootstrap-server $BROKER --describe --topic led | grep -cE 'Isr: [0-9],[0-9],[0-9]' | grep -x 3"

# Who comes back follows, until an election.
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic led | grep -o 'Leader: [0-9]'
#> Leader: 0
#> Leader: 0
#> Leader: 0

echo '{"partitions":[{"topic":"led","partition":0},{"topic":"led","partition":1}]}' > preferred-leader-plan.json
bin/kafka-preferred-replica-election.sh --zookeeper $ZOOKEEPER --path-to-json-file preferred-leader-plan.json
#> Created preferred replica election path with {"version":1,"partitions":[{"topic":"led","partition":0},{"topic":"led","partition":1}]}
#> Successfully started preferred replica election for partitions Set([led,0], [led,1])

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic led | grep -o 'Leader: [0-9]'
#> Leader: 1
#> Leader: 2
#> Leader: 0

# Moving topics to other brokers: a proposal, its execution, and a look at how far it is.
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --create --topic foo1 --replica-assignment 0:1,0:1
#> Created topic "foo1".

echo '{"topics":[{"topic":"foo1"}],"version":1}' > topics-to-move.json
bin/kafka-reassign-partitions.sh --zookeeper $ZOOKEEPER --topics-to-move-json-file topics-to-move.json --broker-list "1,2" --generate > proposal
grep -v '^{' proposal
#> Current partition replica assignment
#> Proposed partition reassignment configuration

tail -1 proposal > expand.json
bin/kafka-reassign-partitions.sh --zookeeper $ZOOKEEPER --reassignment-json-file expand.json --execute | grep -v '^{\|^$'
#> Current partition replica assignment
#> Save this to use as the --reassignment-json-file option during rollback
#~ Successfully started reassignment of partitions \{.*

wait_for sh -c "bin/kafka-reassign-partitions.sh --zookeeper $ZOOKEEPER --reassignment-json-file expand.json --verify | grep -c 'completed successfully' | grep -x 2"
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic foo1 | grep -o 'Replicas: [12],[12]' | sort -u | grep -c .
#~ [12]

# More replicas of a topic that had one.
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --create --topic test --replica-assignment 2
#> Created topic "test".

echo '{"version":1,"partitions":[{"topic":"test","partition":0,"replicas":[0,1,2]}]}' > increase.json
bin/kafka-reassign-partitions.sh --zookeeper $ZOOKEEPER --reassignment-json-file increase.json --execute | tail -1
#> Successfully started reassignment of partitions {"version":1,"partitions":[{"topic":"test","partition":0,"replicas":[0,1,2],"log_dirs":["any","any","any"]}]}

wait_for sh -c "bin/kafka-reassign-partitions.sh --zookeeper $ZOOKEEPER --reassignment-json-file increase.json --verify | grep 'completed successfully'"
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic test
#> Topic:test	PartitionCount:1	ReplicationFactor:3	Configs:
#~ 	Topic: test	Partition: 0	Leader: 2	Replicas: 0,1,2	Isr: .*
