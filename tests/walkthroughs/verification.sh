# The four acceptance tests of an installation (book 1, §3.4; statements 9 to 11), on three brokers.

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --create --topic test-topic --partitions 3 --replication-factor 3
#> Created topic "test-topic".

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --list
#> test-topic

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic test-topic | head -1
#> Topic:test-topic	PartitionCount:3	ReplicationFactor:3	Configs:

# Each broker leads one partition.
bin/kafka-topics.sh --zookeeper $ZOOKEEPER --describe --topic test-topic | grep -o 'Leader: [0-9]' | sort
#> Leader: 0
#> Leader: 1
#> Leader: 2

printf 'one\ntwo\n' | bin/kafka-console-producer.sh --broker-list $BROKERS --topic test-topic

bin/kafka-console-consumer.sh --bootstrap-server $BROKERS --topic test-topic --from-beginning --max-messages 2 2>/dev/null | sort
#> one
#> two

bin/kafka-console-consumer.sh --zookeeper $ZOOKEEPER --topic test-topic --from-beginning --max-messages 2 2>/dev/null | LC_ALL=C sort
#~ Using the ConsoleConsumer with old consumer is deprecated.*
#> one
#> two

# Fewer records than the book's 500,000; the lines are the same.
bin/kafka-producer-perf-test.sh --topic test-topic --num-records 20000 --record-size 200 --throughput -1 --producer-props bootstrap.servers=$BROKERS
#~ 20000 records sent, \d+\.\d+ records/sec \(\d+\.\d\d MB/sec\), \d+\.\d\d ms avg latency, \d+\.\d\d ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.

bin/kafka-consumer-perf-test.sh --broker-list $BROKERS --fetch-size 2000 --messages 20000 --topic test-topic
#> start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
#~ [\d: -]+, [\d: -]+, 3\.\d+, \d+\.\d+, 200\d\d, \d+\.\d+, \d+, \d+, \d+\.\d+, \d+\.\d+

bin/kafka-consumer-perf-test.sh --zookeeper $ZOOKEEPER --message-size 200 --messages 20000 --topic test-topic --threads 3
#> start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec
#~ [\d: -]+, [\d: -]+, 3\.\d+, \d+\.\d+, 200\d\d, \d+\.\d+

bin/kafka-topics.sh --zookeeper $ZOOKEEPER --delete --topic test-topic
#> Topic test-topic is marked for deletion.
#> Note: This will have no impact if delete.topic.enable is not set to true.

wait_for sh -c "! bin/kafka-topics.sh --zookeeper $ZOOKEEPER --list | grep test-topic"
