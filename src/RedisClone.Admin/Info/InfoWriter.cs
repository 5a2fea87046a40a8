using System.Globalization;
using System.Numerics;
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

    public void Field<T>(string name, T value) where T : INumber<T> =>
        _text.Append(CultureInfo.InvariantCulture, $"{name}:{value}\r\n");

    public void Field(string name, bool value) => Field(name, value ? 1 : 0);

    /// <summary>A number with two decimals.</summary>
    public void Ratio(string name, double value, string unit = "") => _text.Append(CultureInfo.InvariantCulture, $"{name}:{value:F2}{unit}\r\n");

    /// <summary>Seconds with six decimals.</summary>
    public void Seconds(string name, TimeSpan value) => _text.Append(CultureInfo.InvariantCulture, $"{name}:{value.TotalSeconds:F6}\r\n");

    /// <summary>A size in bytes, followed by a field with the same size in human-readable form.</summary>
    public void Size(string name, long bytes)
    {
        Field(name, bytes);
        Field(name + "_human", Human(bytes));
    }

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
