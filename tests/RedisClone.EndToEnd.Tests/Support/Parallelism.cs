// Two classes at a time: the tests start servers of their own and mostly wait for them, and they must fit on two cores.
[assembly: CollectionBehavior(MaxParallelThreads = 2)]
