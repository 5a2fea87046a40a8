using System.Diagnostics;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Storage.Values;

/// <summary>Copies large values element by element, within a shard or between shards.</summary>
internal static class LargeCopy
{
    public static Entry Make(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash)
    {
        (Keyspace keyspace, ulong sourceHash, uint handle) = (source.Keyspace, source.Hash, source.Handle);
        Entry copy = target.Insert(key, hash, source.Type, ValueEncoding.Large, source.Value.Length, source.Expiry);
        copy.Value.Clear();
        Entry original = keyspace.Locate(sourceHash, handle);        // the insert may have moved its slot
        try
        {
            CopyContent(original, copy);
        }
        catch
        {
            target.RemoveNow(copy);
            throw;
        }
        return copy;
    }

    private static void CopyContent(in Entry original, in Entry copy)
    {
        switch (original.Type)
        {
            case ValueType.Set:
                foreach (Element member in SetValue.Members(original))
                    SetValue.LargeTable(copy).Add(member.Bytes, KeyHash.Of(member.Bytes));
                break;
            case ValueType.Hash:
                CopyFields(original, copy);
                break;
            case ValueType.SortedSet:
                foreach (ScoredMember member in SortedSetValue.Members(original))
                    LargeSortedSet.Set(copy, member.Member.Bytes, member.Score, out _);
                break;
            case ValueType.List:
                LargeList.CopyBlocks(original, copy);
                break;
            case ValueType.Stream:
                LargeStream.CopyBlocks(original, copy);
                StreamValue.SetState(copy, StreamValue.State(original));
                LargeGroups.Copy(original, copy);
                StreamProducers.Copy(original, copy);
                break;
            default:
                throw new UnreachableException($"a {original.Type} has no large form");
        }
    }

    /// <summary>Copies all fields. A later removal of expired fields must find them in the copy too.</summary>
    private static void CopyFields(in Entry original, in Entry copy)
    {
        HashIndexWalk walk = LargeHash.Table(original).Index.All();
        while (walk.MoveNext())
        {
            HashField field = LargeHash.Read(LargeHash.Table(original), walk.Current);
            LargeHash.Set(copy, field.Name.Bytes, field.Value.Bytes, field.Expiry);
        }
    }
}
