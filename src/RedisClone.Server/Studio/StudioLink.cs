using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using System.Text;
using System.Text.Json;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Studio;

/// <summary>
/// A connection to the server itself, in memory. What a studio asks goes through it as ordinary commands of an ordinary client, so
/// the permissions of its user, the limits, the statistics and the slow log apply without further code.
/// </summary>
internal sealed class StudioLink : IDisposable
{
    private readonly IDuplexPipe _pipe;
    private readonly SemaphoreSlim _turn = new(1);
    private bool _broken;

    public StudioLink(MemoryTransport transport, EndPoint remote, EndPoint local) => _pipe = transport.Connect(remote, local);

    /// <summary>Whether the server has closed the connection, for example because its user was deleted.</summary>
    public bool IsBroken => Volatile.Read(ref _broken);

    /// <summary>
    /// Runs commands and writes their replies as values of a JSON array. A command with a refusal is not run, and gets it as an error.
    /// No other call runs between the commands, so a SELECT is in force for those after it.
    /// </summary>
    /// <exception cref="IOException">The connection is broken, or a reply is too long or too late.</exception>
    public async Task RunAsync(
        IReadOnlyList<(byte[][] Command, string? Refusal)> commands, Utf8JsonWriter json, StudioBudget.Share memory, CancellationToken cancelled)
    {
        await _turn.WaitAsync(cancelled);
        try
        {
            if (_broken) throw new IOException("The connection was closed.");
            using var patience = new CancellationTokenSource(StudioLimits.CallPatience);
            var replies = new ReplyReader(_pipe.Input, json, memory, patience.Token);
            foreach ((byte[][] command, string? refusal) in commands)
            {
                if (refusal is not null)
                {
                    json.WriteStartObject();
                    json.WriteString("x", refusal);
                    json.WriteEndObject();
                    continue;
                }
                Write(_pipe.Output, command);
                // The server takes a long reply's command out of the pipe only while the reply is read.
                Task sent = _pipe.Output.FlushAsync(patience.Token).AsTask();
                await replies.CopyAsync();
                await sent;
            }
        }
        catch (Exception failure)
        {
            // The rest of a reply in the pipe would be taken for the next one. Without a reader, the server's flush of it ends.
            Close();
            _pipe.Input.Complete();
            if (failure is OperationCanceledException)
                throw new IOException(string.Create(CultureInfo.InvariantCulture, $"No answer within {StudioLimits.CallPatience.TotalSeconds} seconds."));
            throw;
        }
        finally
        {
            _turn.Release();
        }
    }

    public void Dispose() => Close();

    private void Close()
    {
        if (Interlocked.Exchange(ref _broken, true)) return;
        _pipe.Output.Complete();
        _pipe.Input.CancelPendingRead();
    }

    private static void Write(PipeWriter output, byte[][] command)
    {
        output.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*{command.Length}\r\n")));
        foreach (byte[] argument in command)
        {
            output.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${argument.Length}\r\n")));
            output.Write(argument);
            output.Write("\r\n"u8);
        }
    }
}
