// Three test classes run at a time. They start servers and mostly wait for them, and must fit on two cores.
[assembly: CollectionBehavior(MaxParallelThreads = 3)]
