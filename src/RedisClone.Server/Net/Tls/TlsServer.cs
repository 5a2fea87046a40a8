using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Server.Net.Tls;

/// <summary>The peers of a port with TLS.</summary>
internal enum TlsPeers
{
    /// <summary><c>tls-auth-clients</c> decides whether they show a certificate.</summary>
    Clients,

    /// <summary>They show no certificate.</summary>
    Browsers,

    /// <summary>The nodes of a cluster. They always show a certificate, because the bus has no password.</summary>
    Nodes,
}

/// <summary>
/// The options for TLS handshakes. They are made from all files and parameters and replaced as a whole after these are read
/// again. A handshake in progress keeps the old options. If a file cannot be read, nothing changes.
/// </summary>
internal sealed class TlsServer(ServerConfig config, ILogger<TlsServer> log)
{
    private readonly SslServerAuthenticationOptions?[] _options = new SslServerAuthenticationOptions?[Enum.GetValues<TlsPeers>().Length];

    /// <summary>The options for a kind of peers, which are set before the first of them is accepted.</summary>
    public SslServerAuthenticationOptions OptionsFor(TlsPeers peers) => Volatile.Read(ref _options[(int)peers])!;

    /// <summary>The parameters that the options depend on.</summary>
    public static readonly string[] Parameters =
    [
        "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients",
        "tls-protocols", "tls-ciphersuites", "tls-session-caching",
    ];

    /// <summary>Reads all files and parameters again. Returns null, or the problem.</summary>
    public string? Load(TlsPeers peers)
    {
        if (TryMake(peers, out string problem) is { } options)
        {
            Volatile.Write(ref _options[(int)peers], options);
            return null;
        }
        log.LogWarning("{Problem}", problem);
        return problem;
    }

    private SslServerAuthenticationOptions? TryMake(TlsPeers peers, out string problem)
    {
        if (TlsFiles.Certificate(config, out problem) is not { } certificate) return null;
        if (TlsFiles.Authorities(config, out problem) is not { } authorities) return null;
        if (TlsFiles.Protocols(config, out problem) is not { } protocols) return null;
        CipherSuitesPolicy? suites = TlsFiles.CipherSuites(config, out problem);
        if (problem.Length > 0) return null;
        TlsAuthClients clients = peers switch
        {
            TlsPeers.Browsers => TlsAuthClients.No,
            TlsPeers.Nodes => TlsAuthClients.Yes,
            _ => config.TlsAuthClients,
        };
        if (clients != TlsAuthClients.No && config.TlsCaCertFile.Length == 0 && config.TlsCaCertDir.Length == 0)
        {
            problem = "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or tls-auth-clients are enabled!";
            return null;
        }
        var options = new SslServerAuthenticationOptions
        {
            ServerCertificateContext = certificate,
            EnabledSslProtocols = protocols,
            ClientCertificateRequired = clients != TlsAuthClients.No,
            CertificateChainPolicy = PolicyOf(authorities),
            RemoteCertificateValidationCallback = (_, shown, _, errors) => clients switch
            {
                TlsAuthClients.No => true,
                TlsAuthClients.Optional when shown is null => true,
                _ => errors == SslPolicyErrors.None,
            },
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            AllowTlsResume = config.TlsSessionCaching,
            ApplicationProtocols = peers == TlsPeers.Browsers ? [SslApplicationProtocol.Http11] : [],
        };
        if (suites is not null && !OperatingSystem.IsWindows() && !OperatingSystem.IsAndroid()) options.CipherSuitesPolicy = suites;
        return options;
    }

    /// <summary>Trusts the certificates of these authorities only, and not those that the machine trusts.</summary>
    public static X509ChainPolicy PolicyOf(X509Certificate2Collection authorities)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck, DisableCertificateDownloads = true,
        };
        policy.CustomTrustStore.AddRange(authorities);
        return policy;
    }
}
