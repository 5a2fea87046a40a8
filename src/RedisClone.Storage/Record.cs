using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// The bytes of one key in one buffer: header, optional expiry, key, value. A successful lookup reads one cache line of the
/// bucket and one of the record.
/// </summary>
/// <remarks>
/// Header: word 0 = type (4 bits), encoding (4), access clock (24); word 1 = flags (8), key length (8), value length (16). If a
/// length does not fit, the Long flag is set and two words with the true lengths follow.
/// </remarks>
internal readonly ref struct Record(Span<byte> bytes)
{
    private const byte HasExpiryFlag = 1, LongFlag = 2, EpochFlag = 4;
    public const int ShortHeader = 8;
    private const int LongHeader = 16, ExpiryBytes = 8;
    private const int MaxShortKey = byte.MaxValue, MaxShortValue = ushort.MaxValue;
    public const uint AccessMask = 0xFFFFFF;

    private readonly Span<byte> _bytes = bytes;

    public ValueType Type => (ValueType)(_bytes[0] & 0xF);

    public ValueEncoding Encoding => (ValueEncoding)(_bytes[0] >> 4);

    public bool HasExpiry => (_bytes[4] & HasExpiryFlag) != 0;

    public bool IsLong => (_bytes[4] & LongFlag) != 0;

    /// <summary>
    /// 24 bits for the eviction policy: the last access, or an access frequency and the time of its last decay.
    /// </summary>
    public uint Access
    {
        get => Word(0) >> 8;
        set => Word(0) = Word(0) & 0xFF | value << 8;
    }

    /// <summary>
    /// The epoch bit: a record whose bit equals the epoch of the store is captured already. See <see cref="Capture"/>.
    /// </summary>
    public bool Epoch
    {
        get => (_bytes[4] & EpochFlag) != 0;
        set => _bytes[4] = (byte)(value ? _bytes[4] | EpochFlag : _bytes[4] & ~EpochFlag);
    }

    public int KeyLength => IsLong ? (int)Word(8) : _bytes[5];

    public int ValueLength => IsLong ? (int)Word(12) : (int)(Word(4) >> 16);

    public int KeyOffset => (IsLong ? LongHeader : ShortHeader) + (HasExpiry ? ExpiryBytes : 0);

    public int ValueOffset => KeyOffset + KeyLength;

    public Span<byte> Key => _bytes.Slice(KeyOffset, KeyLength);

    public Span<byte> Whole => _bytes[..(ValueOffset + ValueLength)];

    public Span<byte> Value => _bytes.Slice(ValueOffset, ValueLength);

    /// <summary>Unix milliseconds at which the key expires, 0 for never.</summary>
    public long Expiry
    {
        get => HasExpiry ? Unsafe.ReadUnaligned<long>(ref _bytes[IsLong ? LongHeader : ShortHeader]) : 0;
        set => Unsafe.WriteUnaligned(ref _bytes[IsLong ? LongHeader : ShortHeader], value);
    }

    /// <summary>
    /// Unix milliseconds at which the first field of a hash expires, 0 for never. The value of a hash that can have such fields
    /// begins with it.
    /// </summary>
    public long NextFieldExpiry
    {
        get => MayHaveFieldExpiry ? Unsafe.ReadUnaligned<long>(ref Value[0]) : 0;
        set
        {
            if (MayHaveFieldExpiry) Unsafe.WriteUnaligned(ref Value[0], value);
        }
    }

    private bool MayHaveFieldExpiry =>
        Type == ValueType.Hash && Encoding is (ValueEncoding.PackedWithExpiry or ValueEncoding.Large);

    /// <summary>
    /// The offset of the value in a record of which only the short header is available, -1 if the record has a long header.
    /// </summary>
    public static int ValueOffsetOf(ReadOnlySpan<byte> header) =>
        (header[4] & LongFlag) != 0 ? -1 : ShortHeader + ((header[4] & HasExpiryFlag) != 0 ? ExpiryBytes : 0) + header[5];

    public static (ValueType Type, ValueEncoding Encoding) FormOf(ReadOnlySpan<byte> header) =>
        ((ValueType)(header[0] & 0xF), (ValueEncoding)(header[0] >> 4));

    public void SetForm(ValueType type, ValueEncoding encoding) => _bytes[0] = (byte)((int)type | (int)encoding << 4);

    /// <summary>Changes the length of the value within the same layout.</summary>
    public void SetValueLength(int length)
    {
        if (IsLong) Word(12) = (uint)length;
        else Word(4) = Word(4) & 0xFFFF | (uint)length << 16;
    }

    /// <summary>Whether a value of another length fits into the layout of this record.</summary>
    public bool LayoutFits(int valueLength) => IsLong || valueLength <= MaxShortValue;

    /// <summary>The bytes of a record with room for <paramref name="spare"/> more. Throws if no buffer can be so large.</summary>
    public static int SizeOf(int keyLength, int valueLength, bool expires, int spare) => Arena.SizeOf(
        (NeedsLong(keyLength, valueLength) ? LongHeader : ShortHeader) + (expires ? ExpiryBytes : 0) + (long)keyLength + valueLength + spare);

    /// <summary>Formats a new record. The caller fills the value.</summary>
    public static Record Format(
        Span<byte> bytes, ReadOnlySpan<byte> key, ValueType type, ValueEncoding encoding,
        uint access, int valueLength, long expiry, bool epoch)
    {
        bool isLong = NeedsLong(key.Length, valueLength);
        var record = new Record(bytes);
        bytes[..8].Clear();
        bytes[4] = (byte)((expiry != 0 ? HasExpiryFlag : 0) | (isLong ? LongFlag : 0) | (epoch ? EpochFlag : 0));
        record.SetForm(type, encoding);
        record.Access = access;
        if (isLong)
        {
            record.Word(8) = (uint)key.Length;
            record.Word(12) = (uint)valueLength;
        }
        else
        {
            bytes[5] = (byte)key.Length;
            record.SetValueLength(valueLength);
        }
        if (expiry != 0) record.Expiry = expiry;
        key.CopyTo(record.Key);
        return record;
    }

    private static bool NeedsLong(int keyLength, int valueLength) => keyLength > MaxShortKey || valueLength > MaxShortValue;

    private ref uint Word(int offset) => ref Unsafe.As<byte, uint>(ref _bytes.Slice(offset, 4)[0]);
}
