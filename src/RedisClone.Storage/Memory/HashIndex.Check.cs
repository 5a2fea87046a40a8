using static RedisClone.Storage.Memory.Integrity;

namespace RedisClone.Storage.Memory;

/// <summary>Checks the invariants of an index.</summary>
public readonly ref partial struct HashIndex
{
    /// <summary>Checks counts and places. Adds the buffers of the index and the handles of its records to the lists.</summary>
    internal void Check(List<uint> buffers, List<(uint Tag, uint Handle)> records)
    {
        if (_root.Table == 0)
        {
            Require(_root is { Buckets: 0, Records: 0, Overflows: 0 }, "an index without buckets is empty");
            return;
        }
        buffers.Add(_root.Table);
        bool hasDirectory = _root.Buckets > SegmentBuckets;
        bool hasRoom = hasDirectory ? SegmentsInUse <= Directory.Length : _root.Buckets <= Capacity();
        Require(hasRoom, "an index has room for its buckets");
        if (hasDirectory)
            foreach (uint segment in Directory[..SegmentsInUse]) buffers.Add(segment);
        int found = records.Count, overflows = buffers.Count;
        for (uint bucket = 0; bucket < _root.Buckets; bucket++) CheckChain(bucket, buffers, records);
        Require(records.Count - found == _root.Records, "an index has as many records as it counts");
        Require(buffers.Count - overflows == _root.Overflows, "an index has as many overflow buckets as it counts");
    }

    private void CheckChain(uint bucket, List<uint> buffers, List<(uint Tag, uint Handle)> records)
    {
        for (Span<uint> words = Bucket(bucket); ; words = Words(words[OverflowWord]))
        {
            Require(words[WordsPerBucket - 1] == 0, "the last word of a bucket is 0");
            for (int i = 0; i < SlotsPerBucket; i++)
            {
                if (words[FirstHandleWord + i] == 0) continue;
                Require(BucketOf(words[i]) == bucket, "a record lies in the bucket of its hash");
                records.Add((words[i], words[FirstHandleWord + i]));
            }
            if (words[OverflowWord] == 0) return;
            buffers.Add(words[OverflowWord]);
        }
    }
}
