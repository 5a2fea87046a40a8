using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;

namespace RedisClone.Server.Net.Tls;

/// <summary>
/// Reads the files and names of the TLS parameters: certificates, keys, authorities, versions and suites. If a method fails, it
/// returns null and a problem.
/// </summary>
internal static class TlsFiles
{
    private const int LongestFile = 64 << 20;
    private const string EncryptedKey = "ENCRYPTED";

    /// <summary>The suites for TLS 1.2, which are added to the suites that the parameter names for TLS 1.3.</summary>
    private static readonly TlsCipherSuite[] ModernSuites =
    [
        TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TlsCipherSuite.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ];

    /// <summary>The server's certificate with its key, and the intermediate certificates of the same file.</summary>
    public static SslStreamCertificateContext? Certificate(ServerConfig config, out string problem)
    {
        problem = config.TlsCertFile.Length == 0 ? "No tls-cert-file configured!" : config.TlsKeyFile.Length == 0 ? "No tls-key-file configured!" : "";
        if (problem.Length > 0) return null;
        string what = "certificate", path = config.PathOf(config.TlsCertFile);
        try
        {
            string certificates = TextOf(path);
            var chain = new X509Certificate2Collection();
            chain.ImportFromPem(certificates);
            if (chain.Count == 0)
            {
                problem = $"Failed to load {what}: {path}: there is none in it";
                return null;
            }
            (what, path) = ("private key", config.PathOf(config.TlsKeyFile));
            string key = TextOf(path);
            X509Certificate2 own = key.Contains(EncryptedKey, StringComparison.Ordinal)
                ? X509Certificate2.CreateFromEncryptedPem(certificates, key, config.TlsKeyFilePass)
                : X509Certificate2.CreateFromPem(certificates, key);
            return SslStreamCertificateContext.Create(own, chain, offline: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            problem = $"Failed to load {what}: {path}: {ConfigFiles.Reason(e)}";
            return null;
        }
    }

    /// <summary>The authorities that may have issued the certificates of clients.</summary>
    public static X509Certificate2Collection? Authorities(ServerConfig config, out string problem)
    {
        var authorities = new X509Certificate2Collection();
        problem = "";
        string path = config.PathOf(config.TlsCaCertFile);
        try
        {
            if (config.TlsCaCertFile.Length > 0) authorities.ImportFromPem(TextOf(path));
            if (config.TlsCaCertFile.Length > 0 && authorities.Count == 0)
            {
                problem = $"Failed to configure CA certificate(s) file/directory: {path}: there is none in it";
                return null;
            }
            if (config.TlsCaCertDir.Length == 0) return authorities;
            path = config.PathOf(config.TlsCaCertDir);
            foreach (string file in Directory.EnumerateFiles(path))
            {
                path = file;
                string text = TextOf(file);
                if (PemEncoding.TryFind(text, out PemFields fields) && text.AsSpan(fields.Label).SequenceEqual("CERTIFICATE")) authorities.ImportFromPem(text);
            }
            return authorities;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException)
        {
            problem = $"Failed to configure CA certificate(s) file/directory: {path}: {ConfigFiles.Reason(e)}";
            return null;
        }
    }

    private static string TextOf(string path)
    {
        byte[] bytes = RealDisk.Instance.ReadAll(path, LongestFile) ?? throw new IOException("File too large");
        using var reader = new StreamReader(new MemoryStream(bytes));
        return reader.ReadToEnd();
    }

    /// <summary>TLS 1.2 and 1.3, unless the parameter selects one of them. Older versions are not offered.</summary>
    public static SslProtocols? Protocols(ServerConfig config, out string problem)
    {
        problem = "";
        string[] words = config.TlsProtocols.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words.Length == 0) return SslProtocols.Tls12 | SslProtocols.Tls13;
        SslProtocols protocols = SslProtocols.None;
        foreach (string word in words)
        {
            if (word.Equals("TLSv1.2", StringComparison.OrdinalIgnoreCase)) protocols |= SslProtocols.Tls12;
            else if (word.Equals("TLSv1.3", StringComparison.OrdinalIgnoreCase)) protocols |= SslProtocols.Tls13;
            else problem = "Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'; older versions are not offered.";
        }
        return problem.Length > 0 ? null : protocols;
    }

    /// <summary>The cipher suites. Null without a problem stands for the system's choice.</summary>
    public static CipherSuitesPolicy? CipherSuites(ServerConfig config, out string problem)
    {
        problem = "";
        if (config.TlsCipherSuites.Length == 0) return null;
        var suites = new List<TlsCipherSuite>();
        foreach (string name in config.TlsCipherSuites.Split(':', StringSplitOptions.RemoveEmptyEntries))
        {
            // A number parses too, as any value of the type.
            if (!char.IsAsciiDigit(name[0]) && Enum.TryParse(name, ignoreCase: false, out TlsCipherSuite suite) && Enum.IsDefined(suite)) suites.Add(suite);
            else problem = $"Failed to configure ciphersuites: {name} is none";
        }
        if (problem.Length > 0) return null;
        if (OperatingSystem.IsLinux() || OperatingSystem.IsMacOS()) return new CipherSuitesPolicy([.. suites, .. ModernSuites]);
        problem = "tls-ciphersuites cannot be chosen on this system";
        return null;
    }
}
