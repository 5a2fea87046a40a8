using System.Globalization;
using System.Text;

namespace RedisClone.Admin.Info;

/// <summary>Formats the lines of INFO.</summary>
internal sealed class InfoWriter
{
    private readonly StringBuilder _text = new(8192);

    public void Section(string title)
    {
        if (_text.Length > 0) _text.Append("\r\n");
        _text.Append("# ").Append(title).Append("\r\n");
    }

    public void Field(string name, string value) => _text.Append(name).Append(':').Append(value).Append("\r\n");

    public static string Human(long bytes) => bytes switch
    {
        < 1L << 10 => string.Create(CultureInfo.InvariantCulture, $"{bytes}B"),
        < 1L << 20 => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1024.0:F2}K"),
        < 1L << 30 => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1048576.0:F2}M"),
        < 1L << 40 => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1073741824.0:F2}G"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{bytes / 1099511627776.0:F2}T"),
    };

    public override string ToString() => _text.ToString();
}
