using System.Text;
using RedisClone.Configuration;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Config;

/// <summary>
/// Damaged configuration files. The server reads a file, or refuses it with a reason. The result of CONFIG REWRITE reads as the
/// same configuration. <c>tests/fuzz config</c> is the long run.
/// </summary>
public sealed class ConfigFuzzTests(ITestOutputHelper output) : IDisposable
{
    private static readonly string[] s_names = [.. ConfigTable.Parameters.Where(parameter => !IsElsewhere(parameter)).Select(parameter => parameter.Name)];

    private static readonly string[] s_pieces =
    [
        "\"", "'", "\\", " ", "\n", "\r", "\t", "#", "1", "0", "-1", "yes", "no", "1gb", "1k", "5%", "%", "\0", "é", "[", "*",
        "\\x41", "\\n", "user", "alice", "on", ">pw", "~*", "+@all", "-debug",
        "(+get ~a)", "sentinel", "x.y", "loadmodule", "rename-command", "99999999999999999999", "-9223372036854775808", "1e9",
        "0x10", "normal", "pubsub", "900", "allkeys-lru", "Kx$", "60 1",
    ];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-config-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void DamagedFilesAreReadOrRefused()
    {
        int files = LongRun.Times(2_000, 1_000_000), read = 0;
        for (int i = 0; i < files; i++)
        {
            Random random = Seed.Random(i);
            string file = Path.Combine(_folder, "redis.conf"), text = Text(random);
            string shown = $"{Seed.Note}, file {i}: {text}";
            File.WriteAllText(file, text);
            ConfigLoad load = Load(file);
            Assert.True(load.Config is null == load.Error.Length > 0, shown);
            if (load.Config is null) continue;
            read++;
            var table = new ConfigTable(load.Config);
            Assert.True(table.Rewrite() is null, shown);
            ConfigLoad again = Load(file);
            Assert.True(again.Config is not null, $"{shown}\nrewritten:\n{File.ReadAllText(file)}\n{again.Error}");
            Assert.True(Values(table).SequenceEqual(Values(new ConfigTable(again.Config))), $"{shown}\nrewritten:\n{File.ReadAllText(file)}");
        }
        output.WriteLine($"{Seed.Note}: {files} files, {read} read");
        Assert.True(read > 0, $"{Seed.Note}: every file was refused");
    }

    /// <summary>Returns whether the parameter names a path outside of this folder.</summary>
    private static bool IsElsewhere(Parameter parameter) => parameter.Name is "dir" or "logfile" or "aclfile" or "include";

    private static string Text(Random random)
    {
        var text = new StringBuilder();
        for (int lines = random.Next(1, 6); lines > 0; lines--)
        {
            string name = s_names[random.Next(s_names.Length)];
            text.Append(random.Next(4) == 0 ? name.ToUpperInvariant() : name).Append(' ');
            if (random.Next(3) > 0) text.Append(ConfigText.Quote(ConfigTable.TextOf(name, ServerConfig.Defaults)));
            else
            {
                for (int words = random.Next(4); words > 0; words--)
                    text.Append(s_pieces[random.Next(s_pieces.Length)]).Append(random.Next(2) == 0 ? " " : "");
            }
            text.Append('\n');
        }
        for (int damage = random.Next(-3, 3); damage > 0; damage--)
        {
            int at = random.Next(text.Length);
            if (random.Next(2) == 0) text.Remove(at, 1);
            else text.Insert(at, s_pieces[random.Next(s_pieces.Length)]);
            if (text.Length == 0) break;
        }
        return text.ToString();
    }

    private static List<KeyValuePair<string, string>> Values(ConfigTable table) => table.Get("*");

    private static ConfigLoad Load(string file) => ServerConfig.Load([file], new Dictionary<string, string>(), () => Stream.Null);
}
