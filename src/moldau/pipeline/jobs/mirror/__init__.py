"""A cluster's topics in another cluster: same names, keys, headers, timestamps and, where counts agree, partitions.

Nouns, bottom-up:

    settings       MirrorSettings: which clusters, which topics, and what of the clients' settings is ours to set
    sync_points    SyncPoints: which offset there is which offset here
    clusters       Clusters: both sides, asked and told through their admin clients
    group_offsets  offsets of groups, translated
    rounds         Mirror: one round after the other

A mirror works in rounds. A round makes the topics that are missing at the target, runs one exactly-once query over
everything that is there, and ends. Between two rounds nothing of the mirror is on its way: the end of the target's
partition then stands exactly for the offset that the query has reached at the source, and that is how groups' offsets
are translated. When there is nothing new, nothing runs.
Invariants: a record is at the target once, whatever is killed; records of a partition stay in order; a translated
offset never is behind what the group has not seen.
"""
