using RedisClone.Memory;

namespace RedisClone.Journal.Format;

/// <summary>The position of one word, relative to the first byte of its command.</summary>
public readonly record struct JournalWord(int Offset, int Length);

/// <summary>The words that a scan has found, so that the command is not parsed again. The list is reused.</summary>
internal sealed class WordList
{
    /// <summary>A longer array, grown by one very large unit, is released.</summary>
    private const int MostKept = 1 << 16;

    private JournalWord[] _words = new JournalWord[64];

    public int Count { get; private set; }

    public ReadOnlySpan<JournalWord> Range(int first, int count) => _words.AsSpan(first, count);

    public void Add(int offset, int length)
    {
        if (Count == _words.Length) HeapRelief.Resize(ref _words, Count * 2);
        _words[Count++] = new(offset, length);
    }

    public void CutTo(int count)
    {
        Count = count;
        if (count == 0 && _words.Length > MostKept) _words = new JournalWord[64];
    }
}
