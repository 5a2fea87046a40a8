using RedisClone.Journal.Rdb;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Engine.Durability;

/// <summary>Writes keys as the commands that create them, as Redis writes a base without an RDB preamble.</summary>
internal sealed class CommandForm : IKeyForm
{
    /// <summary>The number of elements in one command, as in Redis.</summary>
    private const int CommandElements = 64;

    private readonly RdbMemoryTarget _elements = new();
    private readonly CommandText _text = new();
    private readonly StreamCommandForm _streams;
    private int _arguments;

    public CommandForm() => _streams = new StreamCommandForm(_text);

    public void Begin(IRdbTarget target) => _text.Begin(target);

    public void Select(int database)
    {
        _text.Head(2);
        _text.Bulk("SELECT"u8);
        _text.Bulk(database);
    }

    public void Key(in Entry entry)
    {
        var place = default(CapturePlace);
        while (!Part(entry, ref place)) place.Begun = true;
    }

    public void End()
    {
    }

    public bool Part(in Entry entry, ref CapturePlace place)
    {
        _text.Written = 0;
        bool done = entry.Type switch
        {
            ValueType.String => StringPart(entry, ref place),
            ValueType.List => ListPart(entry, ref place),
            ValueType.Set => SetPart(entry, ref place),
            ValueType.SortedSet => SortedSetPart(entry, ref place),
            ValueType.Hash => HashPart(entry, ref place),
            ValueType.Stream => _streams.Part(entry, ref place),
            _ => throw new System.Diagnostics.UnreachableException($"a {entry.Type} has no form in commands"),
        };
        if (done && entry.Expiry != 0)
        {
            _text.Head(3);
            _text.Bulk("PEXPIREAT"u8);
            _text.Bulk(entry.Key);
            _text.Bulk(entry.Expiry);
        }
        return done;
    }

    private bool StringPart(in Entry entry, ref CapturePlace place)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        ReadOnlySpan<byte> value = StringValue.Bytes(entry, digits);
        if (!place.Begun)
        {
            _text.Head(3);
            _text.Bulk("SET"u8);
            _text.Bulk(entry.Key);
            _text.BeginBulk(value.Length);
        }
        ReadOnlySpan<byte> rest = value[(int)place.Cursor..];
        ReadOnlySpan<byte> part = rest[..Math.Min(rest.Length, RdbForm.PartBytes)];
        _text.Raw(part);
        place.Cursor += (ulong)part.Length;
        if (part.Length < rest.Length) return false;
        _text.Raw("\r\n"u8);
        return true;
    }

    private bool ListPart(in Entry entry, ref CapturePlace place)
    {
        foreach (Element element in ListValue.Elements(entry, (long)place.Cursor))
        {
            if (IsPart) return false;
            Add(element);
            place.Cursor++;
            if (IsFull(CommandElements)) Command("RPUSH"u8, entry.Key);
        }
        Command("RPUSH"u8, entry.Key);
        return true;
    }

    private bool SetPart(in Entry entry, ref CapturePlace place)
    {
        do
        {
            ulong next = place.Cursor;
            int at = 0;
            foreach (Element member in SetValue.Scan(entry, ref next))
            {
                if (at++ < place.Taken) continue;
                if (IsPart) return false;
                Add(member);
                place.Taken = at;
                if (IsFull(CommandElements)) Command("SADD"u8, entry.Key);
            }
            place.MoveTo(next);
        }
        while (place.Cursor != 0);
        Command("SADD"u8, entry.Key);
        return true;
    }

    private bool SortedSetPart(in Entry entry, ref CapturePlace place)
    {
        Span<byte> text = stackalloc byte[64];
        do
        {
            ulong next = place.Cursor;
            int at = 0;
            foreach (ScoredMember member in SortedSetValue.Scan(entry, ref next))
            {
                if (at++ < place.Taken) continue;
                if (IsPart) return false;
                Add(text[..RedisNumber.FormatDouble(member.Score, text)]);
                Add(member.Member);
                place.Taken = at;
                if (IsFull(2 * CommandElements)) Command("ZADD"u8, entry.Key);
            }
            place.MoveTo(next);
        }
        while (place.Cursor != 0);
        Command("ZADD"u8, entry.Key);
        return true;
    }

    private bool HashPart(in Entry entry, ref CapturePlace place)
    {
        ulong from = place.Cursor;
        do
        {
            foreach (HashField field in HashValue.ScanAll(entry, ref place.Cursor))
            {
                Add(field.Name);
                Add(field.Value);
                if (IsFull(2 * CommandElements)) Command("HMSET"u8, entry.Key);
            }
        }
        while (place.Cursor != 0 && _text.Written < RdbForm.PartBytes);
        Command("HMSET"u8, entry.Key);
        if (HashValue.NextExpiry(entry) != 0) FieldExpiries(entry, from, place.Cursor);
        return place.Cursor == 0;
    }

    /// <summary>
    /// Writes the expiry of the fields. It scans the same fields again, because each must exist before it can get an expiry.
    /// </summary>
    private void FieldExpiries(in Entry entry, ulong from, ulong to)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        do
        {
            foreach (HashField field in HashValue.ScanAll(entry, ref from))
            {
                if (field.Expiry == 0) continue;
                _text.Head(6);
                _text.Bulk("HPEXPIREAT"u8);
                _text.Bulk(entry.Key);
                _text.Bulk(field.Expiry);
                _text.Bulk("FIELDS"u8);
                _text.Bulk("1"u8);
                _text.Bulk(field.Name.Text(digits));
            }
        }
        while (from != to);
    }

    /// <summary>Whether the commands so far are a part of a value. No part ends within a command.</summary>
    private bool IsPart => _text.Written >= RdbForm.PartBytes && _arguments == 0;

    /// <summary>Whether the command has enough elements.</summary>
    private bool IsFull(int arguments) => _arguments == arguments || _elements.Bytes.Length >= RdbForm.PartBytes;

    private void Add(Element element)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        Add(element.Text(digits));
    }

    private void Add(ReadOnlySpan<byte> argument)
    {
        CommandText.Bulk(_elements, argument);
        _arguments++;
    }

    /// <summary>Writes the command with the elements that were added.</summary>
    private void Command(ReadOnlySpan<byte> name, ReadOnlySpan<byte> key)
    {
        if (_arguments == 0) return;
        _text.Head(_arguments + 2);
        _text.Bulk(name);
        _text.Bulk(key);
        _text.Raw(_elements.Bytes);
        _elements.Clear();
        _arguments = 0;
    }
}
