using System.Buffers;
using System.Runtime.ExceptionServices;
using RedisClone.Engine;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net;

/// <summary>
/// How input becomes a batch. On an event loop, a turn takes the input, executes it and sends the output without resuming <see
/// cref="RunAsync"/>, which waits for input all the time. It is resumed only if something must be awaited, and continues where
/// the turn ended.
/// </summary>
internal sealed partial class Connection
{
    private bool _inTurn;
    private Taken _taken;
    private Pace _pace;                 // of a turn that ended after its execution
    private int _consumed, _examined;   // of its input
    private bool _goesOn;               // after a turn that handed over its output
    private Task<bool>? _sending;       // the same, if the output waits for the client
    private Exception? _failure;        // of a turn

    /// <summary>What a turn did before it completed the read of <see cref="RunAsync"/>.</summary>
    private enum Taken
    {
        Nothing,

        /// <summary>The batch was executed as far as its pace says.</summary>
        Executed,

        /// <summary>The batch is finished, and its output is handed over.</summary>
        Sent,
    }

    void IInputConsumer.Take(ArraySegment<byte> input)
    {
        _idle = false;
        _inTurn = true;
        try
        {
            Parse(input);
            IEventLoop loop = _loop!.EventLoop;
            if (_batch.Count == 0)
            {
                EndTurn(Pace.EndOfBatch);
            }
            else if (_batch.Count <= Limits.GatheredBatch)
            {
                Prepare();
                loop.Gather(this);
            }
            else if (!TryPostpone())
            {
                RunTurn();
            }
        }
        catch (Exception failure)
        {
            FailTurn(failure);
        }
    }

    void IGatheredWork.Fetch() => Fetch();

    void IGatheredWork.Run()
    {
        if (!_inTurn)
        {
            ResumeHere();
            return;
        }
        try
        {
            RunTurn();
        }
        catch (Exception failure)
        {
            FailTurn(failure);
        }
    }

    private void RunTurn() => EndTurn(BeginBatch(isPrepared: _batch.Count <= Limits.GatheredBatch));

    private void EndTurn(Pace pace)
    {
        IEventLoopFeature loop = _loop!;
        // A long script hands the event loop over to another thread, so this may not be its thread any more.
        if (pace != Pace.EndOfBatch || _batch.HasError || Session.CloseAfterReply || Session.IsReplica || !loop.EventLoop.IsOnLoop)
        {
            _pace = pace;
            _taken = Taken.Executed;
            loop.CompleteRead();
            return;
        }
        ForgetBatch();
        loop.Advance(_consumed, _examined);
        AfterBatch();
        _goesOn = !KillIfOverLimit() && Send();
        if (_goesOn && _sending is null && !Session.CloseAfterReply)
        {
            _inTurn = false;
            _idle = true;
            if (loop.TryAwaitInput()) return;
        }
        _taken = Taken.Sent;
        loop.CompleteRead();
    }

    private bool Send()
    {
        ValueTask<bool> sent = SendAsync();
        if (sent.IsCompletedSuccessfully) return sent.Result;
        _sending = sent.AsTask();
        return true;
    }

    /// <summary><see cref="RunAsync"/> ends with the failure.</summary>
    private void FailTurn(Exception failure)
    {
        _failure = failure;
        _loop!.CompleteRead();
    }

    /// <summary>For <see cref="RunAsync"/> when its read is complete.</summary>
    private Taken EndTaking()
    {
        if (_failure is not null) ExceptionDispatchInfo.Throw(_failure);
        Taken taken = _taken;
        _taken = Taken.Nothing;
        _inTurn = false;
        return taken;
    }

    private void Parse(ArraySegment<byte> input)
    {
        BeginParse();
        _parser.Parse(input, _batch, out _consumed, out _examined);
        EndParse(_consumed > 0);
    }

    private void Parse(in ReadOnlySequence<byte> buffer, out SequencePosition consumed, out SequencePosition examined)
    {
        BeginParse();
        _parser.Parse(buffer, _batch, out consumed, out examined);
        // This also runs without input, when there is something to send.
        EndParse(!consumed.Equals(buffer.Start));
    }

    private void BeginParse()
    {
        _now = ServerCore.UnixMilliseconds();
        if (_server.Journal is { } journal) FindRounds(journal);
        _parser.Restricted = Session.MustAuthenticate;
    }

    private void EndParse(bool hasInput)
    {
        if (hasInput)
        {
            Session.LastInteraction = _now;
            Session.Replica?.Heard(_now);
        }
        QueryBytes = _batch.WireBytes + _parser.BufferedBytes;
        QueryRoom = _parser.RoomBytes;
        NoteMemory();
        if (_batch.Count == 0) return;
        _server.Lanes.Current.CountBatch(_batch.Count, _batch.WireBytes);
    }

    /// <summary>Puts a large batch off to a later round if the present one has done much work.</summary>
    private bool TryPostpone()
    {
        if (_loop is not { EventLoop: { IsOnLoop: true, RoundIsFull: true } loop }) return false;
        loop.Postpone(this);
        return true;
    }

    private Pace BeginBatch(bool isPrepared)
    {
        if (_batch.Count == 0) return Pace.EndOfBatch;
        if (QueryBytes > _server.Config.ClientQueryBufferLimit)
        {
            KillForQuery();
            return Pace.EndOfBatch;
        }
        if (!isPrepared)
        {
            Prepare();
            Fetch();
        }
        _rounds?.Enter();
        // Messages from before the request precede its reply.
        if (_output.HasMessages) WriteMessages();
        _current = 0;
        return Execute();
    }

    /// <summary>After a batch whose input is consumed.</summary>
    private void AfterBatch()
    {
        QueryBytes = _parser.BufferedBytes;
        if (QueryBytes > 0)
        {
            KillIfQueryTooLong();
            NoteMemory();
        }
        if (_output.HasMessages) WriteMessages();
    }
}
