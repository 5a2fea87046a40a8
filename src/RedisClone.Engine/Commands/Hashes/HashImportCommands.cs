using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Hashes;

/// <summary>
/// HIMPORT: creates many hashes with the same fields. The client sends the field names once for each connection. A script has no
/// connection: the session in which its commands run also runs those of other clients' scripts.
/// </summary>
internal static class HashImportCommands
{
    private static readonly string[] s_tips = ["request_policy:all_shards"];

    public static readonly CommandRow[] Rows =
    [
        new("HIMPORT",
            -2, Keys.None, NoScript, "hash", "8.10.0", null, "Commands that create many hashes with the same fields.")
        {
            Complexity = "Depends on subcommand.",
            Categories = ["hash"],
            Subcommands =
            [
                new("PREPARE fieldset-name field [field ...]",
                    -4, Keys.None, DenyOom | Grows | NoScript, "hash", "8.10.0", Prepare, "Names a list of field names, for this connection.")
                    { Complexity = "O(N*log(N)) where N is the number of fields.", Tips = s_tips },
                new("SET key fieldset-name value [value ...]",
                    -5, Keys.At(2, OW | Update), Write | DenyOom | NoScript, "hash", "8.10.0", Set, "Creates a hash from a prepared list " +
                        "of fields and their values.")
                    { Complexity = "O(N) where N is the number of fields in the fieldset." },
                new("DISCARD fieldset-name",
                    3, Keys.None, NoScript, "hash", "8.10.0", Discard, "Discards a prepared list of fields.") { Tips = s_tips },
                new("DISCARDALL",
                    2, Keys.None, NoScript, "hash", "8.10.0", DiscardAll, "Discards all prepared lists of fields.")
                    { Complexity = "O(N) where N is the number of session-local fieldsets.", Tips = s_tips },
            ],
        },
    ];

    private static void Prepare(ref CommandContext c)
    {
        byte[][] fields = new byte[c.Args.Count - 3][];
        for (int i = 0; i < fields.Length; i++) fields[i] = c.Args[i + 3].ToArray();
        if (HasDuplicate(fields))
        {
            c.Fail("ERR duplicate field name in fieldset");
            return;
        }
        Fieldsets fieldsets = c.Session.Fieldsets ??= new Fieldsets();
        if (!fieldsets.TryPut(c.Args[2].ToArray(), new FieldNames(fields))) c.Fail("ERR too many fieldsets");
        else c.Reply.Ok();
    }

    private static bool HasDuplicate(byte[][] fields)
    {
        byte[][] sorted = [.. fields];
        Array.Sort(sorted, static (a, b) => a.AsSpan().SequenceCompareTo(b));
        for (int i = 1; i < sorted.Length; i++)
            if (sorted[i].AsSpan().SequenceEqual(sorted[i - 1])) return true;
        return false;
    }

    private static void Set(ref CommandContext c)
    {
        Entry old = c.FindForWrite(2);
        if (old.Exists && !c.Expect(old, ValueType.Hash)) return;
        FieldNames? names = c.Session.Fieldsets?.Find(c.Args[3]);
        if (names is null) c.Fail("ERR no such fieldset");
        else if (names.Count != c.Args.Count - Values.First) c.Fail("ERR value count does not match fieldset field count");
        if (c.Failed) return;
        // The field names come from an earlier command, so the effect can be much longer than this command.
        if (!c.ReserveEffects(SizeOfEffects(c.Args, names!))) return;
        var values = new Values(c.Args);
        Keyspace keyspace = old.Exists ? c.ScratchFor(2) : old.Keyspace;
        HashValue.Import(keyspace, c.Args[2], c.HashOf(2), names!, values);
        // The effect is an HSET, because a replay does not have the fieldsets of the connection.
        if (old.Exists)
        {
            c.ReplaceEffect("DEL"u8, c.Args[2]);
            old.Keyspace.Adopt(keyspace.Find(c.Args[2], c.HashOf(2)), old);
        }
        if (c.ReplaceEffect(arguments: 2 + 2 * names!.Count) is { } effect)
        {
            effect.Add("HSET"u8);
            effect.Add(c.Args[2]);
            for (int i = 0; i < names.Count; i++)
            {
                effect.Add(names[i]);
                effect.Add(values[i]);
            }
        }
        c.Modified(2, NotifyFlags.Hash, "hset");
        c.Reply.Ok();
    }

    private static long SizeOfEffects(in Request request, FieldNames names)
    {
        long text = "DEL"u8.Length + "HSET"u8.Length + 2L * request[2].Length;
        for (int i = 0; i < names.Count; i++) text += names[i].Length + request[Values.First + i].Length;
        return EffectBuffer.SizeOf(2, 0) + EffectBuffer.SizeOf(2 + 2L * names.Count, text);
    }

    private static void Discard(ref CommandContext c) => c.Reply.Integer(c.Session.Fieldsets?.Remove(c.Args[2]) == true ? 1 : 0);

    private static void DiscardAll(ref CommandContext c)
    {
        c.Reply.Integer(c.Session.Fieldsets?.Count ?? 0);
        c.Session.Fieldsets = null;
    }

    private readonly ref struct Values(Request request) : ITexts
    {
        public const int First = 4;

        private readonly Request _request = request;

        public ReadOnlySpan<byte> this[int index] => _request[First + index];
    }
}
