using System.Globalization;
using System.Text;

namespace RedisClone.Configuration;

/// <summary>Generates docs/configuration.md from the parameter table.</summary>
internal static class ConfigReference
{
    private const string Head =
        """
        # Configuration

        <!-- Generated from the table in src/RedisClone.Configuration. Do not edit; instead:
             dotnet run --project src/RedisClone.Server -- --write-config-reference docs/configuration.md -->

        This page lists every parameter with its default, its values and its meaning. The parameters are those of Redis 7.4, and some of later versions, with Redis's
        defaults and rules. To see the values of a running server and change one:

        ```sh
        redis-cli config get 'maxmemory*'
        redis-cli config set maxmemory 1gb maxmemory-policy allkeys-lru
        ```

        A value can come from four places. A later place wins:

        1. The defaults below.
        2. A file in the form of redis.conf: the first argument of the command line, and standard input if the first or last argument is `-`. A file can contain
           `include file` (with wildcards), `user ...` (an ACL user) and `rename-command old new`.
        3. The environment: `REDISCLONE_MAXMEMORY_POLICY` sets `maxmemory-policy`. `REDISCLONE_REQUIREPASS_FILE` names a file that holds `requirepass` as its only line; every
           parameter has such a variable. Kubernetes sets variables of this form for a Service with the name `redisclone`: turn `enableServiceLinks` off in this case.
        4. The command line: `--port 7000 --save 60 1000`.

        `CONFIG SET` changes several parameters at once, or none if one is invalid. `CONFIG REWRITE` writes the values to the file and keeps its comments and its order. Memory
        sizes have units: `1k` is 1000 bytes, `1kb` is 1024 bytes, and so on up to `gb`. File names in parameters are relative to `dir`.

        The column *Notes*:

        - **start**: set at start only, not by `CONFIG SET`.
        - **protected**: `CONFIG SET` changes it only if `enable-protected-configs` allows it.
        - **hidden**: `CONFIG GET` shows it only by its full name.
        - **secret**: not shown in the log, in `MONITOR` and in the slow log.
        - **no effect**: accepted, stored and shown. What it configures in Redis does not exist in this server.
        - **not supported**: any value but the default is an error, because this server would not keep the promise.

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

    /// <summary>The default of dir depends on where the server is started, so the reference does not show a path.</summary>
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
        if (parameter.Has(ParameterFlags.TunesNothing)) yield return "no effect";
        if (parameter.Has(ParameterFlags.Unsupported)) yield return "not supported";
    }
}
