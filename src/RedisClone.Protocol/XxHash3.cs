using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedisClone.Protocol;

/// <summary>
/// XXH3 with 64 bits and without a seed, the hash of DIGEST and IFDEQ. Written from the published specification.
/// </summary>
public static class XxHash3
{
    private const ulong Prime32A = 0x9E3779B1, Prime32B = 0x85EBCA77, Prime32C = 0xC2B2AE3D;
    private const ulong PrimeA = 0x9E3779B185EBCA87, PrimeB = 0xC2B2AE3D27D4EB4F, PrimeC = 0x165667B19E3779F9;
    private const ulong PrimeD = 0x85EBCA77C2B2AE63, PrimeE = 0x27D4EB2F165667C5;
    private const ulong MixA = 0x165667919E3779F9, MixB = 0x9FB21C651E98DF25;

    private const int Stripe = 64;
    private const int Lanes = 8;
    private const int SecretPerStripe = 8;
    private const int StripesPerBlock = (192 - Stripe) / SecretPerStripe;
    private const int Block = Stripe * StripesPerBlock;

    /// <summary>The default secret of the specification.</summary>
    private static ReadOnlySpan<byte> Secret =>
    [
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
        0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
        0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
        0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
        0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
        0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
        0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
        0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
        0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
        0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
        0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
        0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    ];

    public static ulong Hash(ReadOnlySpan<byte> data) => data.Length switch
    {
        <= 16 => HashTiny(data),
        <= 128 => HashShort(data),
        <= 240 => HashMiddle(data),
        _ => HashLong(data),
    };

    private static ulong HashTiny(ReadOnlySpan<byte> data)
    {
        int length = data.Length;
        if (length > 8)
        {
            ulong low = Word(data, 0) ^ SecretPair(24), high = Word(data, length - 8) ^ SecretPair(40);
            return Avalanche((ulong)length + BinaryPrimitives.ReverseEndianness(low) + high + Fold(low, high));
        }
        if (length >= 4)
        {
            ulong joined = Half(data, length - 4) + ((ulong)Half(data, 0) << 32);
            ulong keyed = joined ^ SecretPair(8);
            keyed ^= BitOperations.RotateLeft(keyed, 49) ^ BitOperations.RotateLeft(keyed, 24);
            keyed *= MixB;
            keyed ^= (keyed >> 35) + (ulong)length;
            keyed *= MixB;
            return keyed ^ keyed >> 28;
        }
        if (length > 0)
        {
            uint combined = (uint)data[0] << 16 | (uint)data[length >> 1] << 24 | data[length - 1] | (uint)length << 8;
            return OldAvalanche(combined ^ (ulong)(Half(Secret, 0) ^ Half(Secret, 4)));
        }
        return OldAvalanche(SecretPair(56));
    }

    private static ulong HashShort(ReadOnlySpan<byte> data)
    {
        ulong sum = (ulong)data.Length * PrimeA;
        for (int i = (data.Length - 1) / 32; i >= 0; i--)
            sum += Mix16(data, 16 * i, 32 * i) + Mix16(data, data.Length - 16 * (i + 1), 32 * i + 16);
        return Avalanche(sum);
    }

    private static ulong HashMiddle(ReadOnlySpan<byte> data)
    {
        ulong sum = (ulong)data.Length * PrimeA;
        int rounds = data.Length / 16;
        for (int i = 0; i < 8; i++) sum += Mix16(data, 16 * i, 16 * i);
        sum = Avalanche(sum);
        for (int i = 8; i < rounds; i++) sum += Mix16(data, 16 * i, 16 * (i - 8) + 3);
        return Avalanche(sum + Mix16(data, data.Length - 16, 136 - 17));
    }

    private static ulong HashLong(ReadOnlySpan<byte> data)
    {
        Span<ulong> sums = [Prime32C, PrimeA, PrimeB, PrimeC, PrimeD, Prime32B, PrimeE, Prime32A];
        ReadOnlySpan<byte> rest = data;
        for (; rest.Length > Block; rest = rest[Block..])
        {
            for (int i = 0; i < StripesPerBlock; i++) Accumulate(sums, rest[(i * Stripe)..], Secret[(i * SecretPerStripe)..]);
            Scramble(sums);
        }
        int stripes = (rest.Length - 1) / Stripe;
        for (int i = 0; i < stripes; i++) Accumulate(sums, rest[(i * Stripe)..], Secret[(i * SecretPerStripe)..]);
        Accumulate(sums, data[^Stripe..], Secret[(192 - Stripe - 7)..]);

        ulong result = (ulong)data.Length * PrimeA;
        for (int i = 0; i < Lanes; i += 2)
            result += Fold(sums[i] ^ Word(Secret, 11 + 8 * i), sums[i + 1] ^ Word(Secret, 19 + 8 * i));
        return Avalanche(result);
    }

    private static void Accumulate(Span<ulong> sums, ReadOnlySpan<byte> stripe, ReadOnlySpan<byte> secret)
    {
        for (int i = 0; i < Lanes; i++)
        {
            ulong word = Word(stripe, 8 * i);
            ulong keyed = word ^ Word(secret, 8 * i);
            sums[i ^ 1] += word;
            sums[i] += (keyed & uint.MaxValue) * (keyed >> 32);
        }
    }

    private static void Scramble(Span<ulong> sums)
    {
        for (int i = 0; i < Lanes; i++) sums[i] = (sums[i] ^ sums[i] >> 47 ^ Word(Secret, 192 - Stripe + 8 * i)) * Prime32A;
    }

    private static ulong Mix16(ReadOnlySpan<byte> data, int at, int secret) =>
        Fold(Word(data, at) ^ Word(Secret, secret), Word(data, at + 8) ^ Word(Secret, secret + 8));

    private static ulong SecretPair(int at) => Word(Secret, at) ^ Word(Secret, at + 8);

    private static ulong Avalanche(ulong hash)
    {
        hash = (hash ^ hash >> 37) * MixA;
        return hash ^ hash >> 32;
    }

    /// <summary>The final mix of XXH64, which XXH3 uses for the shortest inputs.</summary>
    private static ulong OldAvalanche(ulong hash)
    {
        hash = (hash ^ hash >> 33) * PrimeB;
        hash = (hash ^ hash >> 29) * PrimeC;
        return hash ^ hash >> 32;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Fold(ulong a, ulong b)
    {
        ulong high = Math.BigMul(a, b, out ulong low);
        return high ^ low;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Word(ReadOnlySpan<byte> bytes, int at) => BinaryPrimitives.ReadUInt64LittleEndian(bytes[at..]);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint Half(ReadOnlySpan<byte> bytes, int at) => BinaryPrimitives.ReadUInt32LittleEndian(bytes[at..]);
}
