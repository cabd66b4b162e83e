# Hello world in five steps (book 1, §1.1; statements 1 to 4): nothing runs yet.

# A ZooKeeper, then a broker. They are told other ports and directories than 2181, 9092 and /tmp: tests run beside each other.
sed -i "s|2181|$ZOOKEEPER_PORT|; s|/tmp/zookeeper|$PWD/zookeeper|" config/zookeeper.properties config/server.properties
sed -i "s|:9092|:$BROKER_PORT|; s|/tmp/kafka-logs|$PWD/data|" config/server.properties

bin/zookeeper-server-start.sh config/zookeeper.properties > logs/zookeeper.out 2>&1 &
echo $! > logs/zookeeper.pid
wait_for grep "serves on" logs/zookeeper.out
grep -o "serves on .*:[0-9]*" logs/zookeeper.out
#~ serves on .*:$ZOOKEEPER_PORT

bin/kafka-server-start.sh config/server.properties > logs/server.out 2>&1 &
echo $! > logs/server.pid
wait_for grep "listens on" logs/server.out
grep -o "broker 0 listens on PLAINTEXT.*:[0-9]*" logs/server.out
#~ broker 0 listens on PLAINTEXT://.*:$BROKER_PORT

# A topic.
bin/kafka-topics.sh --create --zookeeper localhost:$ZOOKEEPER_PORT --topic test --partitions 1 --replication-factor 1
#> Created topic "test".

bin/kafka-topics.sh --describe --zookeeper localhost:$ZOOKEEPER_PORT --topic test
#> Topic:test	PartitionCount:1	ReplicationFactor:1	Configs:
#> 	Topic: test	Partition: 0	Leader: 0	Replicas: 0	Isr: 0

# Two messages, and two that read them; a third appears while the reader waits.
printf 'Hello, Kafka\nThis is my first Kafka message.\n' | bin/kafka-console-producer.sh --broker-list localhost:$BROKER_PORT --topic test

bin/kafka-console-consumer.sh --bootstrap-server localhost:$BROKER_PORT --topic test --from-beginning --max-messages 2
#> Hello, Kafka
#> This is my first Kafka message.
#> Processed a total of 2 messages

bin/kafka-console-consumer.sh --bootstrap-server localhost:$BROKER_PORT --topic test --from-beginning > logs/consumed 2>&1 &
echo $! > logs/consumer.pid
wait_for grep "first" logs/consumed
echo 'And a third.' | bin/kafka-console-producer.sh --broker-list localhost:$BROKER_PORT --topic test
wait_for grep "third" logs/consumed
kill $(cat logs/consumer.pid)
cat logs/consumed
#> Hello, Kafka
#> This is my first Kafka message.
#> And a third.

# The old consumer says that it is old, and reads the same.
bin/kafka-console-consumer.sh --zookeeper localhost:$ZOOKEEPER_PORT --topic test --from-beginning --max-messages 3
#> Using the ConsoleConsumer with old consumer is deprecated and will be removed in a future major release. Consider using the new consumer by passing [bootstrap-server] instead of [zookeeper].
#> Hello, Kafka
#> This is my first Kafka message.
#> And a third.
#> Processed a total of 3 messages

# A script without arguments prints how it is used.
bin/kafka-topics.sh 2>&1 | head -1
#> usage: kafka-topics [OPTIONS]

bin/kafka-console-consumer.sh 2>&1 | head -1
#> usage: kafka-console-consumer [OPTIONS]

# Both end when they are told to.
kill $(cat logs/server.pid)
wait_for sh -c '! kill -0 $(cat logs/server.pid)'
kill $(cat logs/zookeeper.pid)
wait_for sh -c '! kill -0 $(cat logs/zookeeper.pid)'
