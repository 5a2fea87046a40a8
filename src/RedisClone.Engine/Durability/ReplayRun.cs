using System.Buffers;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Protocol;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Runs commands of a journal on one thread, with the handlers that serve clients. The records that a batch needs are
/// prefetched before it runs. Replies are discarded; errors are noted.
/// </summary>
internal sealed class ReplayRun
{
    private const int RepliesKept = 16 * 1024;

    private readonly ServerCore _server;
    private readonly JournalLoader _loader;
    private readonly Session _session;
    private readonly ArrayBufferWriter<byte> _replies = new(2 * RepliesKept);
    private long _forgotten;
    private int _errors;

    public ReplayRun(ServerCore server, JournalLoader loader)
    {
        (_server, _loader) = (server, loader);
        _session = new Session(server, 0, new ReplyWriter(_replies) { Limit = RepliesKept })
        {
            Authenticated = true,
            User = server.Access.Users.Superuser,
            InTransaction = true,
            IsReplay = true,
        };
    }

    /// <summary>
    /// Runs a batch. Returns null, or the reason why the replay cannot continue. No statistics, key events or effects arise
    /// from it.
    /// </summary>
    public string? Run(ReplayBatch batch)
    {
        RequestBatch requests = batch.Requests;
        Prepared[] prepared = batch.Prepared;
        for (int i = 0; i < requests.Count; i++) FetchAhead.Bucket(_server.Shards, batch.Database, prepared[i].Hash);
        bool fetchesMembers = FetchAhead.Records(_server.Shards, batch.Database, requests, prepared);
        _session.Database = batch.Database;
        _session.IsBase = _loader.IsInOwnBase;
        Lane lane = _server.Lanes.Current;
        long now = ServerCore.UnixMilliseconds();
        int at = 0;
        // The thread that reads the journal makes room in the shards. It must not do so in the middle of a command.
        using HeapRelief.Patience patience = HeapRelief.BePatient();
        lane.Effects.IsMuted = true;
        try
        {
            for (; at < requests.Count; at++)
            {
                if (fetchesMembers) FetchAhead.Members(_server.Shards, requests, prepared, at);
                if (RunWithinMemory(requests[at], prepared[at], now, lane) is { } failure) return failure;
                FreeAfter(requests[at], prepared[at]);
            }
            return null;
        }
        catch (Exception failure) when (FailurePolicy.IsOutOfMemory(failure))
        {
            return LoadRoom.LacksMemory;
        }
        catch (Exception bug)
        {
            CommandRow row = prepared[at].Row!;
            _server.Log.LogError(bug, "Command {Command} failed unexpectedly while it was replayed", row.FullName);
            return $"'{row.Name}' failed: {bug.Message}";
        }
        finally
        {
            lane.Effects.IsMuted = false;
        }
    }

    /// <summary>
    /// Runs a command again if there was no memory for it and it has changed nothing, or if a second run leads to the same data. The heap
    /// may be full of garbage and holes, as it was not when the command ran first. Then the command had memory, or was refused.
    /// </summary>
    private string? RunWithinMemory(in Request request, in Prepared prepared, long now, Lane lane)
    {
        for (int attempt = 0; ; attempt++)
        {
            long before = ChangesOf(prepared);
            bool isRepeatable = prepared.Row!.Has(CommandFlags.Repeatable);
            try
            {
                return Run(request, prepared, now, lane);
            }
            catch (OutOfMemoryException) when (before >= 0 && MayRepeat(prepared, before, isRepeatable) && MemoryReserve.TryWait(attempt))
            {
                ForgetReplies();
                ShardSet packed = MayPack(prepared);
                for (int i = packed.Next(0); i >= 0; i = packed.Next(i + 1)) LoadRoom.Make(_server.Shards[i].Store);
                LoadRoom.Wait(attempt);
            }
        }
    }

    private bool MayRepeat(in Prepared prepared, long before, bool isRepeatable) =>
        ChangesOf(prepared) is >= 0 and var now && (isRepeatable || now == before);

    /// <summary>A number that changes with every change that a command makes; -1 while a shard is in the middle of one.</summary>
    private long ChangesOf(in Prepared prepared)
    {
        if (prepared.Row!.HasSingleKey) return _server.Shards.Of(prepared.Hash).Store is { IsTorn: false } store ? store.Changes : -1;
        long changes = _server.Scripts.Libraries.Version;
        for (int i = 0; i < _server.Shards.Count; i++)
        {
            if (_server.Shards[i].Store.IsTorn) return -1;
            changes += _server.Shards[i].Store.Changes;
        }
        return changes;
    }

    /// <summary>
    /// Frees what a command has abandoned, because no background work runs during a replay. If little memory is left, the shards are
    /// compacted too. Otherwise data that had fit would not fit after a restart.
    /// </summary>
    private void FreeAfter(in Request request, in Prepared prepared)
    {
        bool isShort = _server.Shards.Budget.IsShortFor(request.WireLength);
        ShardSet shards = isShort ? MayPack(prepared) : Touched(prepared);
        for (int i = shards.Next(0); i >= 0; i = shards.Next(i + 1)) LoadRoom.Free(_server.Shards[i].Store, isShort);
    }

    private ShardSet Touched(in Prepared prepared) =>
        prepared.Row!.HasSingleKey ? ShardSet.Of(_server.Shards.IndexOf(prepared.Hash)) : _server.Shards.All;

    /// <summary>The shards to pack when memory is missing. One thread replays in a small heap, and any shard may have the room.</summary>
    private ShardSet MayPack(in Prepared prepared) => HeapLimit.IsSmall ? _server.Shards.All : Touched(prepared);

    /// <summary>Drops the replies so far. A long one was dropped while it was written: a small heap may have no room for it.</summary>
    private void ForgetReplies()
    {
        _session.Reply.Restart(_replies);
        _replies.ResetWrittenCount();
        (_forgotten, _errors) = (_session.Reply.BytesWritten, _session.Reply.Errors);
    }

    private string? Run(in Request request, in Prepared prepared, long now, Lane lane)
    {
        CommandRow row = prepared.Row!;
        int before = (int)(_session.Reply.BytesWritten - _forgotten);
        var context = new CommandContext(_session, row, request, prepared.Hash, lane, _server.Shards.All, now, cannotMove: true);
        row.Handler!(ref context);
        if (lane.HasFollowUps)
        {
            lane.ForgetReady();
            lane.EndUnit();
        }
        if (context.Failure is not null) _session.Reply.Error(context.Failure);
        bool failed = _session.Reply.Errors != _errors, isLong = _session.Reply.Overflowed;
        if (!failed && !isLong && before < RepliesKept) return null;
        if (!isLong) _session.Reply.Commit();
        string? error = !failed ? null : isLong ? context.Failure ?? Errors.Internal : Encoding.UTF8.GetString(_replies.WrittenSpan[before..]).TrimEnd();
        ForgetReplies();
        if (error is null) return null;
        if (row.Keys.Length == 0 || context.Failure is { } failure && Errors.IsOfConfiguration(failure)) return $"'{row.Name}' answered {error}";
        _loader.Errors.Add(row.FullName, error);
        return null;
    }
}
