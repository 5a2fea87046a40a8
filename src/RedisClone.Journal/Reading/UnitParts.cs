using RedisClone.Journal.Format;
using RedisClone.Memory;

namespace RedisClone.Journal.Reading;

/// <summary>
/// The commands of a unit and the positions of their words. They are recorded during the scan, so that the commands are
/// not parsed again when they run. Reused.
/// </summary>
internal sealed class UnitParts
{
    private const int MostKept = 1 << 14;

    private Part[] _commands = new Part[16];
    private int _database;
    private int _firstWord;

    /// <summary>Receives the words of the next command.</summary>
    public WordList Words { get; } = new();

    public int Count { get; private set; }

    public void Begin(int database)
    {
        if (_commands.Length > MostKept) _commands = new Part[16];
        Words.CutTo(0);
        (Count, _firstWord, _database) = (0, 0, database);
    }

    /// <summary>Adds the command that was just scanned.</summary>
    public void Add(int offset, int length)
    {
        if (Count == _commands.Length) HeapRelief.Resize(ref _commands, Count * 2);
        _commands[Count++] = new(offset, length, _firstWord, Words.Count - _firstWord, _database);
        _firstWord = Words.Count;
    }

    /// <summary>Skips the command that was just scanned. It is MULTI or EXEC, which only delimit the unit.</summary>
    public void Pass() => Words.CutTo(_firstWord);

    /// <summary>Sets the database of the following commands.</summary>
    public void Select(int database)
    {
        _database = database;
        Pass();
    }

    public JournalCommand Command(ReadOnlySpan<byte> unit, int index)
    {
        ref readonly Part part = ref _commands[index];
        return new()
        {
            Bytes = unit.Slice(part.Offset, part.Length),
            Words = Words.Range(part.FirstWord, part.Words),
            Database = part.Database,
            Offset = part.Offset,
        };
    }

    private readonly record struct Part(int Offset, int Length, int FirstWord, int Words, int Database);
}
