using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace RedisClone.EndToEnd.Tests.Tls;

/// <summary>Creates certificates for a test, as files in a temporary folder.</summary>
internal sealed class TestAuthority : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-tls-").FullName;
    private readonly X509Certificate2 _certificate;
    private readonly ECDsa _key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
    private int _serial;

    public TestAuthority()
    {
        var request = new CertificateRequest("CN=Test Authority", _key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, false, 0, critical: true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, critical: true));
        _certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(10));
        File = Write("ca.crt", _certificate.ExportCertificatePem());
    }

    /// <summary>The certificate of the authority.</summary>
    public string File { get; }

    /// <summary>Creates a certificate for localhost and its key as files with these names, and replaces existing files.</summary>
    public (string Certificate, string Key) Issue(string name, string? password = null)
    {
        using RSA key = RSA.Create(2048);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 certificate = request.Create(
            _certificate.SubjectName, X509SignatureGenerator.CreateForECDsa(_key), DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(9),
            [(byte)++_serial, .. RandomNumberGenerator.GetBytes(8)]);
        string pem = password is null
            ? key.ExportPkcs8PrivateKeyPem()
            : key.ExportEncryptedPkcs8PrivateKeyPem(password, new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 10_000));
        return (Write(name + ".crt", certificate.ExportCertificatePem()), Write(name + ".key", pem));
    }

    public void Dispose()
    {
        _certificate.Dispose();
        _key.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private string Write(string name, string text)
    {
        string path = Path.Combine(_folder, name);
        System.IO.File.WriteAllText(path, text);
        return path;
    }
}
