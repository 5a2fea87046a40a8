namespace RedisClone.Transport.EventLoop;

/// <summary>How another thread waits until everything that has arrived was received.</summary>
internal sealed partial class Loop
{
    /// <summary>Limits the rounds of <see cref="ReceiveAllAsync"/> when input never stops arriving.</summary>
    private const int RoundsToReceiveAll = 64;

    private int _receipts;

    /// <summary>
    /// On the event loop: whether its connections may move to others. Those of which the input is awaited stay until it was received, and at
    /// shutdown all stay.
    /// </summary>
    public bool MayMove => !IsEnding && _receipts == 0;

    public Task ReceiveAllAsync()
    {
        var receipt = new Receipt(this);
        Post(static receipt => ((Receipt)receipt!).Look(), receipt);
        return receipt.Task;
    }

    /// <summary>Checks in each round whether data is still being received.</summary>
    private sealed class Receipt(Loop loop) : TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        private int _rounds;
        private long _received = -1;

        public void Look()
        {
            // Each receive makes room for more data in the socket, so the wait ends only after a whole round without a receive.
            if (_received < 0) loop._receipts++;
            bool quiet = loop.Received == _received && loop._readable.Count == 0 && loop._postponed.Count == 0;
            _received = loop.Received;
            if (quiet || ++_rounds == RoundsToReceiveAll || loop._stopping)
            {
                loop._receipts--;
                SetResult();
                return;
            }
            loop.Post(static receipt => ((Receipt)receipt!).Look(), this);
        }
    }
}
