using System.Collections.Frozen;
using System.Globalization;
using System.Net;
using System.Text.RegularExpressions;
using RedisClone.Configuration;

namespace RedisClone.Server.Support;

/// <summary>
/// Hides what must not leave the machine. A name or an address gets the same label wherever it appears in a bundle, so that a reader
/// sees that two lines are about the same one.
/// </summary>
internal sealed class BundleMask(ServerConfig? config)
{
    private const int ShortestSecret = 4;

    /// <summary>The codes of errors that the server itself gives.</summary>
    private static readonly FrozenSet<string> KnownCodes = FrozenSet.Create(StringComparer.Ordinal,
        "ERR", "WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "OOM", "READONLY", "LOADING", "BUSY", "BUSYKEY", "BUSYGROUP", "NOGROUP", "NOSCRIPT",
        "NOTBUSY", "UNKILLABLE", "EXECABORT", "MISCONF", "MASTERDOWN", "NOREPLICAS", "NOMASTERLINK", "NOPROTO", "UNBLOCKED", "INVALIDOBJ",
        "IOERR", "NOGOODSLAVE", "DENIED", "NOADDR", "CROSSSLOT", "MOVED", "ASK", "CLUSTERDOWN", "NOTREADY", "INPROG");

    private readonly Lock _gate = new();
    private readonly Dictionary<string, string> _labels = new(StringComparer.Ordinal);

    private readonly string[] _secrets = config is null ? [] :
    [
        .. ConfigTable.Groups.SelectMany(static group => group.Parameters).Where(static parameter => parameter.Has(ParameterFlags.Secret))
            .Select(parameter => parameter.GetText(config)).Where(static secret => secret.Length >= ShortestSecret),
    ];

    private readonly string[] _hosts = config is null ? [] :
    [
        .. new[] { config.ReplicaOf?.Host, config.ReplicaAnnounceIp, config.ClusterAnnounceIp, config.ClusterAnnounceHostname }
            .OfType<string>().Where(static host => host.Length > 0 && !IsLoopback(host)).Distinct(),
    ];

    /// <summary>An address with its port: the label of the address, and the port.</summary>
    public string Address(string endPoint)
    {
        if (endPoint.Length == 0) return "";
        if (!IPEndPoint.TryParse(endPoint, out IPEndPoint? address)) return Label("path", endPoint);
        return string.Create(CultureInfo.InvariantCulture, $"{Host(address.Address.ToString())}:{address.Port}");
    }

    /// <summary>The label of an address or of a host's name.</summary>
    public string Host(string host) => IsLoopback(host) ? "loopback" : Label("address", host);

    public string Name(string name) => name.Length == 0 ? "" : Label("name", name);

    public static bool IsKnownCode(string code) => KnownCodes.Contains(code);

    /// <summary>Replaces the values of secret parameters, in case that another text quotes one, and the hosts in the configuration.</summary>
    public string WithoutSecrets(string text)
    {
        foreach (string secret in _secrets) text = text.Replace(secret, "(hidden)", StringComparison.Ordinal);
        foreach (string host in _hosts) text = Regex.Replace(text, $@"(?<![\w.-]){Regex.Escape(host)}(?![\w-])", Host(host));
        return text;
    }

    private static bool IsLoopback(string host) => host == "localhost" || IPAddress.TryParse(host, out IPAddress? address) && IPAddress.IsLoopback(address);

    private string Label(string kind, string text)
    {
        lock (_gate)
        {
            string key = kind + '\0' + text;
            if (!_labels.TryGetValue(key, out string? label))
                _labels.Add(key, label = string.Create(CultureInfo.InvariantCulture, $"{kind}-{_labels.Count + 1}"));
            return label;
        }
    }
}
