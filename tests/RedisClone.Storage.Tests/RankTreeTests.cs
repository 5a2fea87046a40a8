using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class RankTreeTests(ITestOutputHelper output)
{
    /// <summary>A number with a weight.</summary>
    private record struct Item(int Number, int Weight) : ITreeItem<Item>
    {
        public static long WeightOf(ReadOnlySpan<Item> items)
        {
            long weight = 0;
            foreach (Item item in items) weight += item.Weight;
            return weight;
        }

        public static int IndexOf(ReadOnlySpan<Item> items, ref long rank)
        {
            int index = 0;
            while (index < items.Length && rank >= items[index].Weight) rank -= items[index++].Weight;
            return index;
        }
    }

    private readonly struct Before(int number) : ITreeProbe<Item>
    {
        public bool IsAfter(in Item item) => item.Number < number;
    }

    private sealed class Trees
    {
        private readonly Arena _arena = new();
        private TreeRoot _root;

        public Arena Arena => _arena;

        public RankTree<Item> Tree => new(_arena, ref _root);

        public long Bytes => _root.Bytes;

        public uint Height => _root.Height;

        public void Insert(Item item)
        {
            TreePath path = Tree.Seek(new Before(item.Number));
            Tree.Insert(ref path, item);
            Assert.Equal(item, Tree.At(ref path));
        }

        public void Remove(int number)
        {
            TreePath path = Tree.Seek(new Before(number));
            Assert.True(Tree.IsAtItem(ref path));
            Assert.Equal(number, Tree.At(ref path).Number);
            Tree.Remove(ref path);
        }
    }

    public enum Order
    {
        Random,
        Ascending,
        Descending,
        Clustered,
    }

    [Theory]
    [InlineData(Order.Random, 20_000)]
    [InlineData(Order.Ascending, 20_000)]
    [InlineData(Order.Descending, 20_000)]
    [InlineData(Order.Clustered, 20_000)]
    [InlineData(Order.Random, 300)]
    public void MatchesSortedModel(Order order, int items)
    {
        Random random = Seed.Random(output);
        var trees = new Trees();
        var model = new SortedDictionary<int, Item>();
        int next = order == Order.Descending ? items * 4 : 1;
        for (int step = 0; step < items * 2; step++)
        {
            bool growing = step < items;
            if (growing ? random.Next(8) != 0 : random.Next(8) == 0)
            {
                int number = order switch
                {
                    Order.Ascending => next++,
                    Order.Descending => next--,
                    Order.Clustered => random.Next(4) * 1_000_000 + step,
                    _ => random.Next(items * 4),
                };
                if (model.ContainsKey(number)) continue;
                var item = new Item(number, random.Next(4));
                trees.Insert(item);
                model.Add(number, item);
            }
            else if (model.Count > 0)
            {
                int number = order == Order.Random
                    ? model.Keys.ElementAt(random.Next(Math.Min(model.Count, 50)))
                    : model.Keys.First();
                if (random.Next(3) == 0)
                {
                    var item = new Item(number, random.Next(4));
                    TreePath path = trees.Tree.Seek(new Before(number));
                    Assert.True(trees.Tree.IsAtItem(ref path));
                    trees.Tree.Update(ref path, item);
                    model[number] = item;
                }
                else
                {
                    trees.Remove(number);
                    model.Remove(number);
                }
            }
            if (step % (items / 10) == 0) Check(trees, model, random);
        }
        Check(trees, model, random);
        if (random.Next(2) == 0) trees.Tree.Clear();
        else foreach (int number in model.Keys.OrderBy(_ => random.Next())) trees.Remove(number);
        Assert.True(trees.Tree.IsEmpty);
        Assert.Equal(0, trees.Tree.Weight);
        Assert.Equal(0, trees.Arena.LiveBuffers);
    }

    /// <summary>Bytes per item, for items of 8 bytes. Nodes that are filled from one end are full, others mostly.</summary>
    [Theory]
    [InlineData(Order.Ascending, 8.6)]
    [InlineData(Order.Descending, 8.6)]
    [InlineData(Order.Random, 11)]
    public void NodesAreWellFilled(Order order, double most)
    {
        Random random = Seed.Random(output);
        var trees = new Trees();
        const int Items = 50_000;
        for (int i = 0; i < Items; i++)
            trees.Insert(new Item(order switch { Order.Ascending => i, Order.Descending => -i, _ => random.Next() }, 1));
        double bytes = (double)trees.Bytes / Items;
        output.WriteLine($"{bytes:F2} bytes an item, height {trees.Height}");
        Assert.InRange(bytes, 8, most);
    }

    private static void Check(Trees trees, SortedDictionary<int, Item> model, Random random)
    {
        RankTree<Item> tree = trees.Tree;
        Assert.Equal(trees.Arena.BytesUsed, trees.Bytes);
        Assert.Equal(model.Values.Sum(item => (long)item.Weight), tree.Weight);
        var forwards = new List<Item>();
        TreePath path = tree.SeekRank(0, out _);
        if (!tree.IsEmpty)
        {
            path = tree.Seek(new Before(int.MinValue));
            do forwards.AddRange(tree.Leaf(ref path));
            while (tree.NextLeaf(ref path));
        }
        Assert.Equal(model.Values, forwards);
        var backwards = new List<Item>();
        if (!tree.IsEmpty)
        {
            path = tree.Last();
            do backwards.InsertRange(0, tree.Leaf(ref path));
            while (tree.PreviousLeaf(ref path));
        }
        Assert.Equal(model.Values, backwards);

        // Checks the rank of every item, and the item at every rank.
        long rank = 0;
        foreach (Item item in forwards)
        {
            if (random.Next(20) == 0)
            {
                path = tree.Seek(new Before(item.Number));
                Assert.Equal(rank, tree.RankOf(ref path));
                if (item.Weight > 0)
                {
                    int within = random.Next(item.Weight);
                    path = tree.SeekRank(rank + within, out long found);
                    Assert.Equal(within, found);
                    Assert.Equal(item, tree.At(ref path));
                }
            }
            rank += item.Weight;
        }
    }
}
