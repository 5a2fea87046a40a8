using System.Globalization;
using System.Text;

namespace RedisClone.Server.Admin;

/// <summary>docs/configuration.md, made from the table.</summary>
internal static class ConfigReference
{
    private const string Head =
        """
        # Configuration

        <!-- Generated from the table in src/RedisClone.Server/Admin/Config. Do not edit; instead:
             dotnet run --project src/RedisClone.Server -- --write-config-reference docs/configuration.md -->

        Parameters are those of Redis 7.4 (and, where they are known, of later versions), with its defaults and its rules. They come
        from four places; the later one wins:

        1. the defaults below;
        2. a file in the form of redis.conf, the first argument of the command line (`include` with wildcards, quoting and all), and
           standard input if the first or last argument is `-`;
        3. the environment: `REDISCLONE_MAXMEMORY_POLICY` is `maxmemory-policy`; `REDISCLONE_REQUIREPASS_FILE` names a file that holds
           `requirepass` as its one line, for every parameter in the same way (Kubernetes sets variables of this form for a Service that is called
           `redisclone`: turn `enableServiceLinks` off then);
        4. the command line: `--port 7000 --save 60 1000`.

        `CONFIG SET` changes them at run time, several at once or none; `CONFIG REWRITE` writes them back to the file, with its comments
        and its order. Memory takes units: `1k` is 1000 bytes, `1kb` is 1024, and so on up to `gb`. Files that
        parameters name, those of TLS too, are relative to `dir`.

        Beside parameters, a file can have `include file`, `user ...` (an ACL user) and `rename-command old new`.

        The column *Notes*:

        - **start**: only at start, not by `CONFIG SET`.
        - **protected**: by `CONFIG SET` only if `enable-protected-configs` allows it.
        - **hidden**: `CONFIG GET` shows it only by its full name.
        - **secret**: not shown in logs, `MONITOR` and the slow log.
        - **tunes nothing here**: accepted, remembered and shown; what it tunes in Redis does not exist in this server.
        - **not supported**: any value but the default is an error, because this server would not keep what it promises.

        """;

    public static string ToMarkdown()
    {
        var text = new StringBuilder(Head.ReplaceLineEndings("\n"));
        foreach (ParameterGroup group in ConfigTable.Groups)
        {
            text.Append('\n').Append("## ").Append(group.Title).Append("\n\n");
            text.Append("| Parameter | Default | Values | Notes | Meaning |\n| --- | --- | --- | --- | --- |\n");
            foreach (Parameter parameter in group.Parameters)
                text.Append(CultureInfo.InvariantCulture,
                    $"| `{parameter.Name}`{Alias(parameter)} | {DefaultOf(parameter)} | {parameter.Values} | {Notes(parameter)} | {parameter.Doc} |\n");
        }
        return text.ToString();
    }

    private static string Alias(Parameter parameter) => parameter.Alias is { } alias ? $", `{alias}`" : "";

    /// <summary>The directory that the server is started in is not the same for every reader.</summary>
    private static string DefaultOf(Parameter parameter) => parameter switch
    {
        DirParameter => "where it is started",
        { DefaultText: "" } => "",
        _ => $"`{parameter.DefaultText}`",
    };

    private static string Notes(Parameter parameter) => string.Join(", ", AllNotes(parameter));

    private static IEnumerable<string> AllNotes(Parameter parameter)
    {
        if (parameter.Has(ParameterFlags.Immutable)) yield return "start";
        if (parameter.Has(ParameterFlags.Protected)) yield return "protected";
        if (parameter.Has(ParameterFlags.Hidden)) yield return "hidden";
        if (parameter.Has(ParameterFlags.Secret)) yield return "secret";
        if (parameter.Has(ParameterFlags.TunesNothing)) yield return "tunes nothing here";
        if (parameter.Has(ParameterFlags.Unsupported)) yield return "not supported";
    }
}
