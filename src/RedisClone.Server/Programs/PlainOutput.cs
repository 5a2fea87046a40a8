using System.Text;
using RedisClone.Admin.Log;

namespace RedisClone.Server.Programs;

/// <summary>
/// The output of a command that does not run a server. It never throws: <see cref="HasFailed"/> reports incomplete output.
/// </summary>
internal sealed class PlainOutput(StandardStream stream) : TextWriter
{
    /// <summary>True if a part of the output could not be written.</summary>
    public bool HasFailed { get; private set; }

    public override Encoding Encoding => Encoding.UTF8;

    public override void Write(char value) => Write([value]);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count));

    public override void Write(string? value) => Write(value.AsSpan());

    public override void Write(ReadOnlySpan<char> buffer)
    {
        byte[] bytes = new byte[Encoding.UTF8.GetMaxByteCount(buffer.Length)];
        ReadOnlySpan<byte> text = bytes.AsSpan(0, Encoding.UTF8.GetBytes(buffer, bytes));
        HasFailed |= stream.Write(text) < text.Length;
    }

    public override void WriteLine(string? value) => Write(value + NewLine);
}
