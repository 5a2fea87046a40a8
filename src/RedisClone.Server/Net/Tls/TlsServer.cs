using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// What handshakes go by: made of the files and parameters as a whole, and exchanged as a whole when they are read again. Handshakes that
/// have begun end by the old one; what cannot be read changes nothing.
/// </summary>
internal sealed class TlsServer(ServerConfig config, ILogger<TlsServer> log)
{
    private volatile SslServerAuthenticationOptions? _options;

    /// <summary>Set before the first connection can come.</summary>
    public SslServerAuthenticationOptions Options => _options!;

    /// <summary>The parameters that decide it.</summary>
    public static readonly string[] Parameters =
    [
        "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphersuites", "tls-session-caching",
    ];

    /// <summary>Reads everything again; null, or what is wrong.</summary>
    public string? Load()
    {
        if (TryMake(out string problem) is { } options)
        {
            _options = options;
            return null;
        }
        log.LogWarning("{Problem}", problem);
        return problem;
    }

    private SslServerAuthenticationOptions? TryMake(out string problem)
    {
        if (TlsFiles.Certificate(config, out problem) is not { } certificate) return null;
        if (TlsFiles.Authorities(config, out problem) is not { } authorities) return null;
        if (TlsFiles.Protocols(config, out problem) is not { } protocols) return null;
        CipherSuitesPolicy? suites = TlsFiles.CipherSuites(config, out problem);
        if (problem.Length > 0) return null;
        TlsAuthClients clients = config.TlsAuthClients;
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
            ApplicationProtocols = [],
        };
        if (suites is not null && !OperatingSystem.IsWindows() && !OperatingSystem.IsAndroid()) options.CipherSuitesPolicy = suites;
        return options;
    }

    /// <summary>A client's certificate counts if it comes from one of these, and not from whomever the machine trusts.</summary>
    private static X509ChainPolicy PolicyOf(X509Certificate2Collection authorities)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck, DisableCertificateDownloads = true,
        };
        policy.CustomTrustStore.AddRange(authorities);
        return policy;
    }
}
