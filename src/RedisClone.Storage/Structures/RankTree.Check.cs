using static RedisClone.Storage.Memory.Integrity;

namespace RedisClone.Storage.Structures;

/// <summary>Checks the invariants of a tree.</summary>
internal readonly ref partial struct RankTree<T>
{
    /// <summary>Checks weights, first items and counts. Adds the nodes, and the items in their order, to the lists.</summary>
    public void Check(List<uint> nodes, List<T> items)
    {
        if (_root.Node == 0)
        {
            Require(_root is { Height: 0, Weight: 0, Bytes: 0 }, "a tree without nodes is empty");
            return;
        }
        int before = nodes.Count;
        long weight = CheckNode(_root.Node, RootLevel, nodes, items, out _), bytes = 0;
        for (int i = before; i < nodes.Count; i++) bytes += _arena.Capacity(nodes[i]);
        Require(weight == _root.Weight, "a tree knows its weight");
        Require(bytes == _root.Bytes, "a tree knows its bytes");
        Require(RootLevel == 0 || Count(_root.Node) > 1, "the root of a tree has more than one child");
    }

    private long CheckNode(uint node, int level, List<uint> nodes, List<T> items, out T first)
    {
        nodes.Add(node);
        int count = Count(node);
        Require(count > 0 && count <= Capacity(node), "a node is not empty and holds at most its capacity");
        Require(Capacity(node) == CapacityOf(_arena.Capacity(node), SizeAt(level)), "a node knows its capacity");
        first = FirstOf(node, level);
        if (level == 0)
        {
            foreach (ref readonly T item in Items(node)) items.Add(item);
            return T.WeightOf(Items(node));
        }
        long weight = 0;
        foreach (ref readonly Child child in Children(node))
        {
            long below = CheckNode(child.Node, level - 1, nodes, items, out T childFirst);
            Require(below == child.Weight, "a node knows the weight below each child");
            Require(childFirst.Equals(child.First), "a node knows the first item of each child");
            weight += below;
        }
        return weight;
    }
}
