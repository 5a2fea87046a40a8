namespace RedisClone.Configuration;

/// <summary>The parameters for TLS with clients and with other servers.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Tls() =>
    [
        Int("tls-port", 0, 0, 65535, static c => ref c.TlsPort, "TCP port for TLS; 0 turns it off."),
        Text("tls-cert-file", null, static c => ref c.TlsCertFile, "Certificate of the server, PEM.", flags: Volatile),
        Text("tls-key-file", null, static c => ref c.TlsKeyFile, "Private key of the certificate, PEM.", flags: Volatile),
        Text("tls-key-file-pass", null, static c => ref c.TlsKeyFilePass, "Passphrase of the private key.", flags: Secret),
        Text("tls-client-cert-file", null, "Certificate for connections that this server opens.", flags: Unsupported | Volatile),
        Text("tls-client-key-file", null, "Private key of that certificate.", flags: Unsupported | Volatile),
        Text("tls-client-key-file-pass", null, "Passphrase of that private key.", flags: Unsupported | Secret),
        Text("tls-dh-params-file", null, "Diffie-Hellman parameters.", flags: TunesNothing | Volatile),
        Text("tls-ca-cert-file", null, static c => ref c.TlsCaCertFile,
            "File of authorities that sign the certificates of clients.", flags: Volatile),
        Text("tls-ca-cert-dir", null, static c => ref c.TlsCaCertDir,
            "Directory of authorities that sign the certificates of clients.", flags: Volatile),
        Choice("tls-auth-clients", TlsAuthClients.Yes, ConfigChoices.TlsAuthClients, static c => ref c.TlsAuthClients,
            "Whether clients must show a certificate."),
        Choice("tls-auth-clients-user", TlsAuthClientsUser.Off, ConfigChoices.TlsAuthClientsUser, static c => ref c.TlsAuthClientsUser,
            "Logs a client in as the ACL user that its certificate names."),
        Text("tls-protocols", null, static c => ref c.TlsProtocols, "TLS versions to offer."),
        Text("tls-ciphers", null, "Ciphers to offer up to TLS 1.2.", flags: Unsupported),
        Text("tls-ciphersuites", null, static c => ref c.TlsCipherSuites, "Cipher suites to offer in TLS 1.3."),
        Bool("tls-prefer-server-ciphers", false, "Choose the cipher by the server's preference.", flags: Unsupported),
        Bool("tls-session-caching", true, static c => ref c.TlsSessionCaching, "Let clients resume a TLS session."),
        Int("tls-session-cache-size", 20480, 0, int.MaxValue, "TLS sessions kept for resumption.", flags: TunesNothing),
        Int("tls-session-cache-timeout", 300, 0, int.MaxValue, "Seconds that a TLS session can be resumed.", flags: TunesNothing),
        Bool("tls-replication", false, static c => ref c.TlsReplication, "Connect to the master with TLS."),
        Bool("tls-cluster", false, static c => ref c.TlsCluster, "TLS on the cluster bus and for MIGRATE. A node of a cluster takes it at the start only."),
    ];
}
