namespace RedisClone.Storage;

/// <summary>What a key holds. The numbers are stored in records and never change.</summary>
public enum ValueType : byte
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSet = 3,
    Hash = 4,
    Stream = 5,
}

/// <summary>The form that a value has in memory. The numbers are stored in records and never change.</summary>
public enum ValueEncoding : byte
{
    /// <summary>A string's bytes as they were set.</summary>
    Raw = 0,

    /// <summary>A string that is a 64-bit integer, kept as eight bytes.</summary>
    Integer = 1,

    /// <summary>A string that was changed in place: reported as raw whatever its length, as Redis does.</summary>
    Modified = 2,

    /// <summary>A small collection: all its elements one after the other within the record.</summary>
    Packed = 3,

    /// <summary>A small set of integers only, sorted, within the record.</summary>
    Integers = 4,

    /// <summary>A large collection: the record holds the root of structures elsewhere in the arena.</summary>
    Large = 5,

    /// <summary>A small hash of which some fields expire.</summary>
    PackedWithExpiry = 6,

    /// <summary>A small hash whose field names are kept once for many.</summary>
    Shaped = 7,
}
