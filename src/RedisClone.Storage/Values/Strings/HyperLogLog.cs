using System.Buffers.Binary;
using System.Numerics;

namespace RedisClone.Storage.Values.Strings;

/// <summary>
/// An estimate of the number of different elements added, in the byte format of Redis: a header and 16384 registers. The hash of
/// an element chooses a register, which keeps the longest run of zeros among its hashes. With few elements, the form is sparse:
/// runs of equal registers (HyperLogLog.Sparse.cs). With many, it is dense: six bits per register. The value is a string that any
/// client can overwrite, so its content is not trusted.
/// </summary>
/// <remarks>
/// Header: "HYLL", one byte for the form, three unused bytes, eight bytes for the cached cardinality. The highest bit of the
/// cache marks it as stale.
/// </remarks>
public static partial class HyperLogLog
{
    public const int Registers = 1 << IndexBits;

    /// <summary>The length of a dense estimate.</summary>
    public const int DenseBytes = HeaderBytes + Registers * RegisterBits / 8;

    private const int IndexBits = 14;
    private const int MaxRun = 64 - IndexBits;
    private const int RegisterBits = 6;
    private const int RegisterMask = (1 << RegisterBits) - 1;

    private const int HeaderBytes = 16;
    private const int FormAt = 4, CacheAt = 8;
    private const byte Dense = 0, Sparse = 1;
    private const ulong Stale = 1UL << 63;

    private static ReadOnlySpan<byte> Magic => "HYLL"u8;

    /// <summary>The result of adding to an estimate.</summary>
    public enum Addition
    {
        Nothing,
        Changed,

        /// <summary>The value has an invalid form.</summary>
        Corrupt,
    }

    /// <summary>Adds an absent key with an empty estimate.</summary>
    public static void Create(Keyspace keyspace, ref Entry entry, ReadOnlySpan<byte> key)
    {
        Span<byte> value = StringValue.Create(keyspace, ref entry, key, HeaderBytes + 2);
        Magic.CopyTo(value);
        value[FormAt] = Sparse;
        WriteLongZeros(value[HeaderBytes..], Registers);
    }

    /// <summary>Whether a string is an estimate according to its header.</summary>
    public static bool IsOne(in Entry entry)
    {
        ReadOnlySpan<byte> value = entry.Value;
        return entry.Encoding != ValueEncoding.Integer
            && value.Length >= HeaderBytes
            && value.StartsWith(Magic)
            && (value[FormAt] == Sparse || (value[FormAt] == Dense && value.Length == DenseBytes));
    }

    public static bool IsSparse(in Entry entry) => entry.Value[FormAt] == Sparse;

    /// <summary>
    /// Adds an element. If the result is Changed, the caller invalidates the cached cardinality. A sparse estimate that would
    /// exceed <paramref name="sparseLimit"/> bytes becomes dense.
    /// </summary>
    public static Addition Add(in Entry entry, ReadOnlySpan<byte> element, long sparseLimit)
    {
        int register = Choose(element, out int run);
        var start = default(SparsePlace);
        return Raise(entry, register, run, sparseLimit, ref start);
    }

    /// <summary>Raises every register to at least the given value.</summary>
    public static void RaiseAll(in Entry entry, ReadOnlySpan<byte> registers, long sparseLimit)
    {
        var start = default(SparsePlace);
        for (int i = 0; i < Registers; i++)
            if (registers[i] != 0) Raise(entry, i, registers[i], sparseLimit, ref start);
    }

    /// <summary>
    /// Raises collected registers, one byte each, to those of an estimate. Returns false if the estimate is corrupt.
    /// </summary>
    public static bool CollectInto(scoped Span<byte> registers, in Entry entry)
    {
        if (IsSparse(entry)) return CollectSparse(registers, entry.Value);
        ReadOnlySpan<byte> bytes = entry.Value[HeaderBytes..];
        for (int i = 0; i < Registers; i += 4, bytes = bytes[3..])
        {
            int four = bytes[0] | bytes[1] << 8 | bytes[2] << 16;
            for (int j = i; j < i + 4; j++, four >>= RegisterBits)
                if (registers[j] < (four & RegisterMask)) registers[j] = (byte)(four & RegisterMask);
        }
        return true;
    }

    /// <summary>Converts an estimate to the dense form. Returns false, with nothing changed, if it is corrupt.</summary>
    public static bool TryMakeDense(in Entry entry)
    {
        if (!IsSparse(entry)) return true;
        Span<byte> registers = stackalloc byte[Registers];
        registers.Clear();
        if (!CollectInto(registers, entry)) return false;
        entry.Keyspace.Resize(entry, DenseBytes);
        Span<byte> value = entry.Value;
        value[FormAt] = Dense;
        value = value[HeaderBytes..];
        for (int i = 0; i < Registers; i += 4, value = value[3..])
        {
            int four = registers[i] | registers[i + 1] << 6 | registers[i + 2] << 12 | registers[i + 3] << 18;
            value[0] = (byte)four;
            value[1] = (byte)(four >> 8);
            value[2] = (byte)(four >> 16);
        }
        return true;
    }

    /// <summary>The cached cardinality, if nothing was added since it was computed.</summary>
    public static bool TryGetCached(in Entry entry, out long cardinality)
    {
        ulong cached = BinaryPrimitives.ReadUInt64LittleEndian(entry.Value[CacheAt..]);
        cardinality = (long)cached;
        return (cached & Stale) == 0;
    }

    public static void SetCached(in Entry entry, long cardinality)
    {
        // A read-only command can store the cache, so no other change has called Preserve.
        entry.Keyspace.Preserve(entry);
        BinaryPrimitives.WriteInt64LittleEndian(entry.Value[CacheAt..], cardinality);
    }

    public static void ForgetCached(in Entry entry) => entry.Value[CacheAt + 7] |= 0x80;

    /// <summary>Estimates the cardinality. Returns false if the value is corrupt.</summary>
    public static bool TryCount(in Entry entry, out long cardinality)
    {
        Span<byte> registers = stackalloc byte[Registers];
        registers.Clear();
        bool sound = CollectInto(registers, entry);
        cardinality = sound ? Count(registers) : 0;
        return sound;
    }

    /// <summary>The estimate from registers of one byte each (Ertl, arXiv:1702.01284).</summary>
    public static long Count(ReadOnlySpan<byte> registers)
    {
        Span<int> histogram = stackalloc int[RegisterMask + 1];
        histogram.Clear();
        foreach (byte register in registers) histogram[register & RegisterMask]++;
        const double alphaInfinity = 0.721347520444481703680;      // 0.5 / ln 2
        const double m = Registers;
        double z = m * Tau((m - histogram[MaxRun + 1]) / m);
        for (int i = MaxRun; i >= 1; i--) z = (z + histogram[i]) * 0.5;
        z += m * Sigma(histogram[0] / m);
        return (long)Math.Round(alphaInfinity * m * m / z, MidpointRounding.AwayFromZero);
    }

    /// <summary>
    /// The register that the hash of an element chooses, and the length of its run of zeros including the terminating one.
    /// </summary>
    internal static int Choose(ReadOnlySpan<byte> element, out int run)
    {
        const uint seed = 0xadc83b19;
        ulong hash = Murmur64(element, seed);
        run = BitOperations.TrailingZeroCount(hash >> IndexBits | 1UL << MaxRun) + 1;
        return (int)(hash & (Registers - 1));
    }

    private static Addition Raise(in Entry entry, int register, int run, long sparseLimit, ref SparsePlace start)
    {
        Addition done = IsSparse(entry) ? RaiseSparse(entry, register, run, sparseLimit, ref start) : Addition.Nothing;
        if (!IsSparse(entry)) done = RaiseDense(entry.Value[HeaderBytes..], register, run);
        return done;
    }

    private static Addition RaiseDense(Span<byte> bytes, int register, int run)
    {
        int at = register * RegisterBits >> 3, shift = register * RegisterBits & 7;
        // A register that ends within its first byte, like the last one, has no second byte.
        bool split = shift > 8 - RegisterBits;
        int pair = split ? bytes[at] | bytes[at + 1] << 8 : bytes[at];
        if ((pair >> shift & RegisterMask) >= run) return Addition.Nothing;
        pair = (pair & ~(RegisterMask << shift)) | run << shift;
        bytes[at] = (byte)pair;
        if (split) bytes[at + 1] = (byte)(pair >> 8);
        return Addition.Changed;
    }

    /// <summary>MurmurHash64A, little-endian.</summary>
    private static ulong Murmur64(ReadOnlySpan<byte> data, ulong seed)
    {
        const ulong m = 0xc6a4a7935bd1e995;
        const int r = 47;
        ulong hash = seed ^ (ulong)data.Length * m;
        for (; data.Length >= 8; data = data[8..])
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(data) * m;
            hash = (hash ^ (word ^ word >> r) * m) * m;
        }
        if (!data.IsEmpty)
        {
            for (int i = data.Length - 1; i >= 0; i--) hash ^= (ulong)data[i] << 8 * i;
            hash *= m;
        }
        hash = (hash ^ hash >> r) * m;
        return hash ^ hash >> r;
    }

    private static double Sigma(double x)
    {
        if (x == 1.0) return double.PositiveInfinity;
        double before, y = 1, z = x;
        do
        {
            x *= x;
            before = z;
            z += x * y;
            y += y;
        }
        while (before != z);
        return z;
    }

    private static double Tau(double x)
    {
        if (x is 0.0 or 1.0) return 0;
        double before, y = 1, z = 1 - x;
        do
        {
            x = Math.Sqrt(x);
            before = z;
            y *= 0.5;
            z -= (1 - x) * (1 - x) * y;
        }
        while (before != z);
        return z / 3;
    }
}
