namespace RedisClone.Storage;

/// <summary>The type of a value. The numbers are stored in records and never change.</summary>
public enum ValueType : byte
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSet = 3,
    Hash = 4,
    Stream = 5,
}

/// <summary>The form of a value in memory. The numbers are stored in records and never change.</summary>
public enum ValueEncoding : byte
{
    /// <summary>The bytes of a string as they were set.</summary>
    Raw = 0,

    /// <summary>A string that is the text of a 64-bit integer, stored as eight bytes.</summary>
    Integer = 1,

    /// <summary>A string that was changed in place. As in Redis, its encoding is reported as raw whatever its length.</summary>
    Modified = 2,

    /// <summary>A small collection: all elements one after the other within the record.</summary>
    Packed = 3,

    /// <summary>A small set of integers, sorted, within the record.</summary>
    Integers = 4,

    /// <summary>A large collection: the record holds the root of structures elsewhere in the arena.</summary>
    Large = 5,

    /// <summary>A small hash with expiring fields.</summary>
    PackedWithExpiry = 6,

    /// <summary>A small hash that shares its field names with other hashes.</summary>
    Shaped = 7,
}
