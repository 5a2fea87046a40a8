using System.Globalization;
using System.Text;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Format;

/// <summary>
/// The end of a base that consists of commands: an annotation in the last line, with a checksum of all bytes before it. Commands of Redis
/// have no checksum, and a file that is cut between two of them looks complete. An annotation after that of <see cref="BasePosition"/>
/// announces the end, because bases of redis-server and of earlier versions of this server have none.
/// </summary>
public sealed class BaseEnd
{
    private const int Length = 15;

    private uint _sum = Checksum.Start;

    /// <summary>The line that announces the end.</summary>
    public static ReadOnlySpan<byte> Announcement => "#ENDS\r\n"u8;

    /// <summary>Adds bytes of the base to the checksum, in order.</summary>
    public void Add(ReadOnlySpan<byte> bytes) => _sum = Checksum.Add(_sum, bytes);

    /// <summary>The last line, after everything was added.</summary>
    public byte[] Line() =>
        Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"#END:{Checksum.Finish(_sum):x8}\r\n"));

    /// <summary>Whether the first bytes of a base announce its end.</summary>
    internal static bool IsAnnounced(ReadOnlySpan<byte> head)
    {
        int line = head.IndexOf((byte)'\n') + 1;
        return BasePosition.Read(head) >= 0 && head[line..].StartsWith(Announcement);
    }

    /// <summary>Whether a file ends with the line of its content.</summary>
    internal static bool Matches(FileWindow window)
    {
        var end = new BaseEnd();
        window.MoveTo(0);
        while (window.Remaining > Length)
        {
            window.Fill(Math.Min(window.Remaining, Length + 1));
            ReadOnlySpan<byte> bytes = window.Bytes[..(int)Math.Min(window.Bytes.Length, window.Remaining - Length)];
            end.Add(bytes);
            window.Advance(bytes.Length);
        }
        return window.Fill(Length) && window.Bytes.SequenceEqual(end.Line());
    }
}
