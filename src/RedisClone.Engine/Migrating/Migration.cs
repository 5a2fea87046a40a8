using System.Buffers;
using System.Globalization;
using System.Text;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Migrating;

/// <summary>
/// The transfer of keys to another server, for one MIGRATE. No shard is held meanwhile, and the client waits without a thread.
/// </summary>
internal sealed class Migration(MigrationLinks links, MigrationTarget target, TimeSpan patience)
{
    /// <summary>Bytes of one write, which must be done within the patience.</summary>
    private const int Chunk = 64 * 1024;

    private const string SameServer = "ERR Target instance is this server";

    private const string ConnectFailed = "IOERR error or timeout connecting to the client";

    private readonly ArrayBufferWriter<byte> _output = new();
    private string? _refusal;           // the first error of the target
    private bool _isWriting;

    /// <summary>The keys to transfer. Only the holder of their shards changes the list.</summary>
    public List<MigratedKey> Keys { get; } = [];

    /// <summary>The keys of the first transfer, in <see cref="Database"/>. The array does not change.</summary>
    public MigratedKey[] AllKeys { get; private set; } = [];

    public int Database { get; private set; }

    /// <summary>Bytes of memory that count as the waiting client's.</summary>
    public long CountedBytes { get; private set; }

    /// <summary>Counts the payloads, which every transfer may read again.</summary>
    public long Count() => CountedBytes = Keys.Sum(static key => (long)key.Name.Length + key.Payload.Length);

    /// <summary>The error for the client, or null.</summary>
    public string? Error { get; private set; }

    /// <summary>The number of transfers so far. A key that changes during the transfer is transferred again.</summary>
    public int Rounds { get; private set; }

    private string RequestLost => $"IOERR error or timeout {(_isWriting ? "writing" : "reading")} to target instance";

    /// <summary>
    /// Gives up the keys that the target has not confirmed. Those that it has are still brought to the state that they have here.
    /// </summary>
    public void KeepConfirmed() => Keys.RemoveAll(static key => !key.IsConfirmed);

    /// <summary>Called before the first transfer.</summary>
    public void Claim(int database)
    {
        if (AllKeys.Length > 0) return;
        Database = database;
        AllKeys = [.. Keys];
    }

    /// <summary>Transfers the keys and then makes the command of a waiting client run again.</summary>
    public void Start(Waiter waiter) => _ = Task.Run(async () =>
    {
        try
        {
            await RunAsync(CancellationToken.None).ConfigureAwait(false);
        }
        finally
        {
            // Nothing else wakes the client.
            waiter.Wake(WakeReason.Again);
        }
    });

    /// <summary>Transfers the keys that are not confirmed. The task does not fail.</summary>
    public async Task RunAsync(CancellationToken end)
    {
        Rounds++;
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(end);
        for (int attempt = 0; ; attempt++)
        {
            MigrationLink? link = links.Take(target.Address);
            try
            {
                link ??= await links.ConnectAsync(target, Patience(limit)).ConfigureAwait(false);
            }
            catch (Exception e) when (IsLost(e))
            {
                // As with Redis, a refused connection fails when it is used.
                _isWriting = true;
                Error = e is RefusedConnectionException ? RequestLost : ConnectFailed;
                return;
            }
            catch (Exception e)
            {
                Error = ConnectFailed;
                links.Failed(e);
                return;
            }
            try
            {
                await TransferAsync(link, limit).ConfigureAwait(false);
                Error = _refusal;
                links.Return(link);
                return;
            }
            catch (Exception e) when (IsLost(e))
            {
                link.Dispose();
                Error = _refusal ?? RequestLost;
                // A kept connection may have been closed by the target. A slow target gets no second request.
                bool isUntouched = _refusal is null && !Keys.Exists(static key => key.IsConfirmed);
                if (e is OperationCanceledException || attempt > 0 || !isUntouched) return;
            }
            catch (OutOfMemoryException)
            {
                link.Dispose();
                Error = Commands.Errors.AllocationFailed;
                return;
            }
            catch (Exception bug)
            {
                link?.Dispose();
                Error = RequestLost;
                links.Failed(bug);
                return;
            }
        }
    }

    private static bool IsLost(Exception e) => e is IOException or InvalidDataException or ObjectDisposedException or OperationCanceledException;

    private async Task TransferAsync(MigrationLink link, CancellationTokenSource limit)
    {
        MigratedKey[] keys = [.. Keys.Where(static key => !key.IsConfirmed)];
        bool selects = link.Database != target.Database;
        bool isFirst = link.IsNew;
        string login = "", selection = "";
        link.Database = -1;
        _isWriting = true;
        _output.ResetWrittenCount();
        if (target.Password is { } password)
        {
            if (target.User is { } user) Add("AUTH"u8, Encoding.UTF8.GetBytes(user), Encoding.UTF8.GetBytes(password));
            else Add("AUTH"u8, Encoding.UTF8.GetBytes(password));
        }
        if (selects) Add("SELECT"u8, Number(target.Database));
        if (isFirst)
        {
            // The target has accepted the connection when it has answered. No key is sent before it is known which server it is.
            await SendAsync(link, limit).ConfigureAwait(false);
            await ReadStartAsync().ConfigureAwait(false);
            link.IsNew = false;
            if (links.LeadsHere(link))
            {
                _refusal = SameServer;
                throw new IOException(SameServer);
            }
            _isWriting = true;
        }
        foreach (MigratedKey key in keys)
        {
            await AddRestoreAsync(link, key, limit).ConfigureAwait(false);
            if (_output.WrittenCount >= Chunk) await SendAsync(link, limit).ConfigureAwait(false);
        }
        await SendAsync(link, limit).ConfigureAwait(false);
        _isWriting = false;
        if (!isFirst) await ReadStartAsync().ConfigureAwait(false);
        foreach (MigratedKey key in keys)
        {
            string reply = await ReplyAsync(link, limit).ConfigureAwait(false);
            string? error = IsError(login) ? login : IsError(selection) ? selection : IsError(reply) ? reply : null;
            key.IsConfirmed = error is null;
            if (error is not null) _refusal ??= $"ERR Target instance replied with error: {error[1..]}";
        }
        if (_refusal is null) link.Database = target.Database;

        async ValueTask ReadStartAsync()
        {
            _isWriting = false;
            if (target.Password is not null) login = await ReplyAsync(link, limit).ConfigureAwait(false);
            if (selects) selection = await ReplyAsync(link, limit).ConfigureAwait(false);
        }
    }

    private static bool IsError(string reply) => reply.StartsWith('-');

    /// <summary>A long payload is sent from its own array.</summary>
    private async ValueTask AddRestoreAsync(MigrationLink link, MigratedKey key, CancellationTokenSource limit)
    {
        byte[] payload = key.Payload;
        long ttl = key.Expiry == 0 ? 0 : Math.Max(1, key.Expiry - ServerCore.UnixMilliseconds());
        Line('*', key.Replaces ? 5 : 4);
        AddWord(target.IsInCluster ? "RESTORE-ASKING"u8 : "RESTORE"u8);
        AddWord(key.Name);
        AddWord(Number(ttl));
        if (payload.Length < Chunk)
        {
            AddWord(payload);
        }
        else
        {
            Line('$', payload.Length);
            await SendAsync(link, limit).ConfigureAwait(false);
            await SendAsync(link, payload, limit).ConfigureAwait(false);
            _output.Write("\r\n"u8);
        }
        if (key.Replaces) AddWord("REPLACE"u8);
    }

    private void Add(ReadOnlySpan<byte> name, params ReadOnlySpan<byte[]> arguments)
    {
        Line('*', arguments.Length + 1);
        AddWord(name);
        foreach (byte[] argument in arguments) AddWord(argument);
    }

    private void AddWord(ReadOnlySpan<byte> word)
    {
        Line('$', word.Length);
        _output.Write(word);
        _output.Write("\r\n"u8);
    }

    private void Line(char type, long number) =>
        _output.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{type}{number}\r\n")));

    private static byte[] Number(long number) => Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture));

    private async ValueTask SendAsync(MigrationLink link, CancellationTokenSource limit)
    {
        await SendAsync(link, _output.WrittenMemory, limit).ConfigureAwait(false);
        _output.ResetWrittenCount();
    }

    private async ValueTask SendAsync(MigrationLink link, ReadOnlyMemory<byte> bytes, CancellationTokenSource limit)
    {
        for (; bytes.Length > 0; bytes = bytes[Math.Min(Chunk, bytes.Length)..])
            await link.Channel.SendAsync(bytes[..Math.Min(Chunk, bytes.Length)], Patience(limit)).ConfigureAwait(false);
    }

    private ValueTask<string> ReplyAsync(MigrationLink link, CancellationTokenSource limit) => link.Channel.ReadLineAsync(Patience(limit));

    /// <summary>Begins the limit for the next operation, with the one timer of this run.</summary>
    private CancellationToken Patience(CancellationTokenSource limit)
    {
        limit.CancelAfter(patience);
        return limit.Token;
    }
}
