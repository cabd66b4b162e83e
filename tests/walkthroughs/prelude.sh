# What the walk-throughs need beside Kafka's own scripts. They run in a directory that `moldau kafka-home` wrote.

# Try a command until it succeeds, for half a minute at most.
wait_for() {
    for _ in $(seq 300); do
        if "$@" > /dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "never succeeded: $*"
    return 1
}

# Start and stop broker N by config/server-N.properties.
start_broker() {
    bin/kafka-server-start.sh "config/server-$1.properties" > "logs/server-$1.out" 2>&1 &
    echo $! > "logs/server-$1.pid"
    wait_for grep -q "listens on" "logs/server-$1.out"
}

stop_broker() {
    kill -TERM "$(cat "logs/server-$1.pid")"
    wait_for sh -c "! kill -0 $(cat "logs/server-$1.pid")"
}
