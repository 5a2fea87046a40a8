using System.Numerics;
using System.Runtime.InteropServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Values.Strings;

/// <summary>
/// The longest common subsequence of two strings, 64 cells of the usual table at a time. A row is a bit vector that marks the
/// columns where the length grows. One addition computes it from the row above (Hyyrö 2004). The way back through the table needs
/// only these bits, so a row takes an eighth of a byte per column.
/// </summary>
public readonly ref struct CommonSubsequence
{
    private readonly byte[]? _rows;
    private readonly int _stride;

    /// <param name="first">The first string.</param>
    /// <param name="second">The second string.</param>
    /// <param name="keepPath">Whether <see cref="Runs"/> will be called.</param>
    public CommonSubsequence(ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, bool keepPath)
    {
        First = first;
        Second = second;
        if (first.IsEmpty || second.IsEmpty) return;
        _stride = (second.Length + 7) / 8;
        if (keepPath) _rows = RentedArrays.Rent<byte>(checked(first.Length * _stride));

        int words = (second.Length + 63) / 64;
        Span<short> ordinals = stackalloc short[256];
        int distinct = NumberBytes(first, ordinals);
        ulong[] rented = RentedArrays.Rent<ulong>(checked((distinct + 1) * words));
        Span<ulong> row = rented.AsSpan(0, words), masks = rented.AsSpan(words, distinct * words);
        MarkPlaces(second, ordinals, masks, words);
        row.Fill(ulong.MaxValue);
        for (int i = 0; i < first.Length; i++)
        {
            Advance(row, masks.Slice(ordinals[first[i]] * words, words));
            if (keepPath) MemoryMarshal.AsBytes(row)[.._stride].CopyTo(_rows.AsSpan(i * _stride));
        }
        Length = second.Length - CountOnes(row, second.Length);
        RentedArrays.Return(rented);
    }

    public ReadOnlySpan<byte> First { get; }

    public ReadOnlySpan<byte> Second { get; }

    public int Length { get; }

    /// <summary>The common substrings, from the last to the first.</summary>
    public CommonRuns Runs() => new(this);

    public void Dispose()
    {
        if (_rows is not null) RentedArrays.Return(_rows);
    }

    /// <summary>Whether the length grows from the previous column to this one. Rows and columns count from 1.</summary>
    internal bool GrowsAt(int row, int column) => (_rows![(row - 1) * _stride + (column - 1 >> 3)] >> (column - 1 & 7) & 1) == 0;

    private static int NumberBytes(ReadOnlySpan<byte> text, Span<short> ordinals)
    {
        ordinals.Fill(-1);
        short next = 0;
        foreach (byte value in text)
            if (ordinals[value] < 0) ordinals[value] = next++;
        return next;
    }

    private static void MarkPlaces(ReadOnlySpan<byte> text, ReadOnlySpan<short> ordinals, Span<ulong> masks, int words)
    {
        masks.Clear();
        for (int i = 0; i < text.Length; i++)
            if (ordinals[text[i]] >= 0) masks[ordinals[text[i]] * words + (i >> 6)] |= 1UL << i;
    }

    private static void Advance(Span<ulong> row, ReadOnlySpan<ulong> places)
    {
        ulong carry = 0;
        for (int i = 0; i < row.Length; i++)
        {
            ulong bits = row[i], met = bits & places[i];
            ulong sum = bits + met;
            ulong carried = sum < bits ? 1UL : 0UL;
            sum += carry;
            carry = sum < carry ? 1UL : carried;
            row[i] = sum | (bits & ~places[i]);
        }
    }

    private static int CountOnes(ReadOnlySpan<ulong> row, int bits)
    {
        int count = 0;
        for (int i = 0; i < row.Length; i++)
        {
            int used = Math.Min(64, bits - 64 * i);
            count += BitOperations.PopCount(row[i] & ulong.MaxValue >> 64 - used);
        }
        return count;
    }
}

/// <summary>Walks back through the table. A run is a maximal sequence of diagonal steps through equal bytes.</summary>
public ref struct CommonRuns
{
    private readonly CommonSubsequence _common;
    private int _first, _second;

    internal CommonRuns(CommonSubsequence common)
    {
        _common = common;
        _first = common.First.Length;
        _second = common.Second.Length;
    }

    /// <summary>The position of the run in the first string.</summary>
    public readonly int InFirst => _first;

    public readonly int InSecond => _second;

    public int Length { get; private set; }

    public bool MoveNext()
    {
        Length = 0;
        while (_first > 0 && _second > 0)
        {
            if (_common.First[_first - 1] == _common.Second[_second - 1])
            {
                _first--;
                _second--;
                Length++;
            }
            else if (Length > 0) return true;
            else if (_common.GrowsAt(_first, _second)) _first--;
            else _second--;
        }
        return Length > 0;
    }
}
