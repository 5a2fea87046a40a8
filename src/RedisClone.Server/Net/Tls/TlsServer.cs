using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// The options for TLS handshakes. They are made from all files and parameters and replaced as a whole after these are read
/// again. A handshake in progress keeps the old options. If a file cannot be read, nothing changes.
/// </summary>
internal sealed class TlsServer(ServerConfig config, ILogger<TlsServer> log)
{
    private volatile SslServerAuthenticationOptions? _options, _browserOptions;

    /// <summary>Set before the first connection is accepted.</summary>
    public SslServerAuthenticationOptions Options => _options!;

    /// <summary>The same for the HTTP port, where clients show no certificate.</summary>
    public SslServerAuthenticationOptions BrowserOptions => _browserOptions!;

    /// <summary>The parameters that the options depend on.</summary>
    public static readonly string[] Parameters =
    [
        "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients",
        "tls-protocols", "tls-ciphersuites", "tls-session-caching",
    ];

    /// <summary>Reads all files and parameters again. Returns null, or the problem.</summary>
    public string? Load(bool forBrowsers = false)
    {
        if (TryMake(forBrowsers, out string problem) is { } options)
        {
            if (forBrowsers) _browserOptions = options;
            else _options = options;
            return null;
        }
        log.LogWarning("{Problem}", problem);
        return problem;
    }

    private SslServerAuthenticationOptions? TryMake(bool forBrowsers, out string problem)
    {
        if (TlsFiles.Certificate(config, out problem) is not { } certificate) return null;
        if (TlsFiles.Authorities(config, out problem) is not { } authorities) return null;
        if (TlsFiles.Protocols(config, out problem) is not { } protocols) return null;
        CipherSuitesPolicy? suites = TlsFiles.CipherSuites(config, out problem);
        if (problem.Length > 0) return null;
        TlsAuthClients clients = forBrowsers ? TlsAuthClients.No : config.TlsAuthClients;
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
            ApplicationProtocols = forBrowsers ? [SslApplicationProtocol.Http11] : [],
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
