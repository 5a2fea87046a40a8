using System.Collections;
using System.Text;

namespace RedisClone.Configuration;

/// <summary>The result of loading the configuration: a configuration, or the error to print before the process exits.</summary>
internal sealed record ConfigLoad(ServerConfig? Config, string Error, IReadOnlyList<string> Warnings);

/// <summary>
/// Loads the configuration: the file with its includes and standard input, then the environment, then the command line. Later
/// lines override earlier ones. Methods return null, or the error to exit with.
/// </summary>
internal sealed class ConfigLoader
{
    private const int MaxIncludeDepth = 16;

    /// <summary>The maximum length of a unix socket path in bytes, including the terminating zero.</summary>
    private const int MaxUnixPath = 108;

    /// <summary>Obsolete parameters that have no effect. Each has one value.</summary>
    private static readonly string[] Deprecated = ["list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands"];

    private readonly ServerConfig _config = new();

    /// <summary>Parameters that already had a line, so that a further line adds to their value.</summary>
    private readonly HashSet<Parameter> _seen = [];

    /// <summary>The source of each parameter's value, for error messages.</summary>
    private readonly Dictionary<Parameter, string> _origins = [];

    public static ConfigLoad Load(IReadOnlyList<string> args, IDictionary environment, Func<Stream> openStandardInput)
    {
        var commandLine = CommandLine.Parse(args);

        var warnings = new List<string>();
        var loader = new ConfigLoader();
        string? error = loader.Load(commandLine, environment, openStandardInput, warnings);
        return error is null ? new ConfigLoad(loader._config, "", warnings) : new ConfigLoad(null, error, warnings);
    }

    private string? Load(
        CommandLine commandLine, IDictionary environment, Func<Stream> openStandardInput, List<string> warnings)
    {
        _config.ConfigFile = commandLine.ConfigFile;
        string text = "", input = "";
        if (commandLine.ConfigFile is { } file && ConfigFiles.Read(file, out text) is { } noFile) return noFile;
        if (commandLine.ReadsStandardInput && ConfigFiles.ReadStandardInput(openStandardInput, out input) is { } noInput)
            return noInput;
        text += input;

        // Error messages number options as lines after the end of the file.
        return ReadLines(text, firstLine: 1, depth: 0)
            ?? ReadEnvironment(environment, warnings)
            ?? ReadLines(commandLine.OptionLines, firstLine: text.Count(c => c == '\n') + 2, depth: 0)
            ?? CheckSupported()
            ?? CheckUnixSocket()
            ?? CheckLogFile();
    }

    private string? ReadLines(string text, int firstLine, int depth)
    {
        int number = firstLine - 1;
        foreach (string raw in text.Split('\n'))
        {
            number++;
            string line = raw.Trim(' ', '\t', '\r', '\n');
            if (line.Length == 0 || line[0] == '#') continue;
            if (ConfigText.SplitWords(line) is not { } words)
                return Fatal(number, line, "Unbalanced quotes in configuration line");
            if (words.Length == 0) continue;

            words[0] = words[0].ToLowerInvariant();
            if (words is ["include", var path])
            {
                if (Include(path, depth) is { } error) return error;
            }
            else if (ReadLine(new ConfigDirective(words, number, line)) is { } error) return Fatal(number, line, error);
        }
        return null;
    }

    private string? ReadLine(ConfigDirective line)
    {
        string[] words = line.Words;
        if (ConfigTable.Find(words[0]) is { } parameter)
        {
            _origins[parameter] = Place(line.Line, line.Text);
            // A password with other bytes would become another one.
            if (!ConfigText.IsText(line.Text)) return "the value is not valid UTF-8";
            return ReadParameter(parameter, words.AsSpan(1));
        }

        switch (words)
        {
            case [var name, _] when Deprecated.Contains(name):
                return null;
            case ["rename-command", _, _]:
                _config.RenamedCommands.Add(line);
                return null;
            case ["user", var user, ..]:
                if (_config.Users.Exists(known => known.Words[1] == user))
                    return $"Error in user declaration '{user}': Duplicate user found. A user can only be defined once in config files";
                _config.Users.Add(line);
                return null;
            case ["loadmodule", _, ..]:
                return "'loadmodule' is not supported: this server loads no native modules";
            case ["sentinel", _, ..]:
                return "sentinel directive while not in sentinel mode";
            case [var name, ..] when name.Contains('.'):
                return words.Length < 2
                    ? "Module config specified without value"
                    : "Module Configuration detected without loadmodule directive or no ApplyConfig call: aborting";
            default:
                return "Bad directive or wrong number of arguments";
        }
    }

    private string? ReadParameter(Parameter parameter, ReadOnlySpan<string> words)
    {
        if (!parameter.TakesWords && words.Length != 1) return "wrong number of arguments";

        // One argument may contain several words (--save "900 1"). An empty argument is a word of its own.
        if (parameter.TakesWords && words.Length == 1 && words[0].Length > 0)
            words = ConfigText.SplitWords(ConfigText.ToLine(words[0])) ?? [];

        bool isFirst = _seen.Add(parameter);
        return isFirst ? parameter.Set(_config, words) : parameter.Add(_config, words);
    }

    private string? Include(string path, int depth)
    {
        if (depth == MaxIncludeDepth)
            return $"Fatal error, can't open config file '{path}': more than {MaxIncludeDepth} files include each other\n";
        foreach (string file in ConfigFiles.Expand(_config.PathOf(path)))
            if ((ConfigFiles.Read(file, out string text) ?? ReadLines(text, firstLine: 1, depth + 1)) is { } error) return error;
        return null;
    }

    private string? ReadEnvironment(IDictionary environment, List<string> warnings)
    {
        foreach (ConfigEnvironment.Setting setting in ConfigEnvironment.Read(environment, warnings))
        {
            string? error = setting.Error;
            if (error is null)
            {
                _seen.Remove(setting.Parameter); // the variable replaces the lines of the file, even if lines accumulate
                _origins[setting.Parameter] = Place(setting.Variable);
                error = ReadParameter(setting.Parameter, [setting.Value]);
            }
            if (error is not null) return Fatal($"{Place(setting.Variable)}\n{error}");
        }
        return null;
    }

    /// <summary>Checked at the end, because a later line may override an unsupported value.</summary>
    private string? CheckSupported()
    {
        foreach ((Parameter parameter, string place) in _origins)
            if (ConfigTable.NotSupported(parameter, _config) is { } error) return Fatal($"{place}\n{error}");
        return null;
    }

    private string? CheckUnixSocket()
    {
        if (_config.UnixSocket.Length == 0) return null;
        int length = Encoding.UTF8.GetByteCount(_config.PathOf(_config.UnixSocket));
        return length < MaxUnixPath
            ? null
            : Fatal($"Failed opening Unix socket: unix socket path too long ({length}), must be under {MaxUnixPath}");
    }

    /// <summary>Opens the log file now, because the error could not be reported later.</summary>
    private string? CheckLogFile()
    {
        if (_config.LogFile.Length == 0) return null;
        try
        {
            using var file = new FileStream(_config.PathOf(_config.LogFile), FileMode.Append, FileAccess.Write, FileShare.ReadWrite);
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return Fatal($"Can't open the log file: {ConfigFiles.Reason(e)}");
        }
    }

    private static string Place(int number, string line) => $"Reading the configuration file, at line {number}\n>>> '{ConfigText.FromLine(line)}'";

    private static string Place(string variable) => $"Reading the environment variable {variable}";

    private static string Fatal(int number, string line, string reason) => Fatal($"{Place(number, line)}\n{reason}");

    private static string Fatal(string what) => $"\n*** FATAL CONFIG FILE ERROR (Redis {ServerVersion.Redis}) ***\n{what}\n";
}
