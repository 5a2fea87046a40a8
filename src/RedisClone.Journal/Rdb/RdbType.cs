namespace RedisClone.Journal.Rdb;

/// <summary>The type bytes of values in an RDB, up to Redis 8.</summary>
public enum RdbType
{
    String = 0,
    List = 1,
    Set = 2,
    SortedSetText = 3,
    Hash = 4,
    SortedSet = 5,
    ModuleOld = 6,
    Module = 7,
    HashZipmap = 9,
    ListZiplist = 10,
    SetIntset = 11,
    SortedSetZiplist = 12,
    HashZiplist = 13,
    ListQuicklistZiplists = 14,
    Stream = 15,
    HashListpack = 16,
    SortedSetListpack = 17,
    ListQuicklist = 18,
    Stream2 = 19,
    SetListpack = 20,
    Stream3 = 21,
    HashMetadataOld = 22,
    HashListpackExpiringOld = 23,
    HashMetadata = 24,
    HashListpackExpiring = 25,
    Stream4 = 26,
    Stream5 = 27,
}

/// <summary>The opcodes: bytes in the position of a type byte that introduce something other than a key.</summary>
internal static class RdbOpcode
{
    public const byte SlotInfo = 244;
    public const byte Function = 245;
    public const byte FunctionOld = 246;
    public const byte ModuleAux = 247;
    public const byte Idle = 248;
    public const byte Frequency = 249;
    public const byte Aux = 250;
    public const byte ResizeDatabase = 251;
    public const byte ExpireMilliseconds = 252;
    public const byte ExpireSeconds = 253;
    public const byte SelectDatabase = 254;
    public const byte End = 255;
}

/// <summary>The versions of the RDB format.</summary>
public static class RdbVersion
{
    /// <summary>
    /// Redis 7.0: the lowest version that can represent everything except hash fields with an expiry.
    /// </summary>
    public const int Redis70 = 10;

    /// <summary>Redis 7.4: adds hash fields with an expiry.</summary>
    public const int Redis74 = 12;

    /// <summary>The highest version that this server reads. Redis 8 writes it.</summary>
    public const int Highest = 14;
}
