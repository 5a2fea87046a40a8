using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// Generates requests for a row of the command table from its syntax. Options occur in any order and repeatedly, and the words of
/// options occur as keys and values.
/// </summary>
internal sealed class RequestGenerator(Random random, string[] keys, string[] values)
{
    private static readonly string[] s_numbers = ["0", "1", "2", "3", "-1", "10"];

    public string[] Request(CommandRow row)
    {
        var words = new List<string>();
        if (row.Parent is { } parent) words.Add(parent.Name);
        words.Add(row.Name);
        int first = words.Count;
        Sequence(CommandSyntax.Parse(row.Syntax), words);
        if (random.Next(4) == 0 && words.Count > first) Deform(words, first);
        return [.. words];
    }

    private void Sequence(CommandArgument[] parts, List<string> words)
    {
        int repetitions = 0;
        for (int i = 0; i < parts.Length; i++)
        {
            int end = i;
            while (end < parts.Length && parts[end].IsOptional) end++;
            if (end - i > 1)
            {
                Options(parts[i..end], words);
                i = end - 1;
                continue;
            }
            if (parts[i].IsOptional && random.Next(2) == 0) continue;
            bool counts = parts[i].Kind == ArgumentKind.Integer && parts[i].Name.StartsWith("num", StringComparison.Ordinal);
            if (counts) words.Add((repetitions = random.Next(1, 4)).ToString(System.Globalization.CultureInfo.InvariantCulture));
            else Argument(parts[i], words, parts[i].IsRepeated ? repetitions > 0 ? repetitions : random.Next(1, 4) : 1);
        }
    }

    /// <summary>Adds options in a random order. Some options occur twice.</summary>
    private void Options(CommandArgument[] options, List<string> words)
    {
        for (int count = random.Next(options.Length + 2); count > 0; count--)
        {
            CommandArgument option = options[random.Next(options.Length)];
            Argument(option, words, option.IsRepeated ? random.Next(1, 3) : 1);
        }
    }

    private void Argument(CommandArgument argument, List<string> words, int times)
    {
        for (int i = 0; i < times; i++)
        {
            if (argument.Token is { } token && (i == 0 || argument.RepeatsToken)) words.Add(token);
            switch (argument.Kind)
            {
                case ArgumentKind.Word:
                    break;
                case ArgumentKind.Choice:
                    Sequence([argument.Parts[random.Next(argument.Parts.Length)] with { IsOptional = false }], words);
                    break;
                case ArgumentKind.Block:
                    Sequence(argument.Parts, words);
                    break;
                case ArgumentKind.Key:
                    words.Add(keys[random.Next(keys.Length)]);
                    break;
                case ArgumentKind.Integer or ArgumentKind.Double or ArgumentKind.UnixTime when random.Next(12) > 0:
                    words.Add(s_numbers[random.Next(s_numbers.Length)]);
                    break;
                default:
                    words.Add(random.Next(4) == 0 ? keys[random.Next(keys.Length)] : values[random.Next(values.Length)]);
                    break;
            }
        }
    }

    private void Deform(List<string> words, int first)
    {
        int at = random.Next(first, words.Count), other = random.Next(first, words.Count);
        switch (random.Next(4))
        {
            case 0:
                words[at] = keys[random.Next(keys.Length)];
                break;
            case 1:
                words.Insert(at, keys[random.Next(keys.Length)]);
                break;
            case 2:
                words.RemoveAt(at);
                break;
            default:
                (words[at], words[other]) = (words[other], words[at]);
                break;
        }
    }
}
