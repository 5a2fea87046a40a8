using System.Text;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Splits a source text into tokens. The first error is recorded. After an error every token is the end of the file,
/// which ends every loop of the parser.
/// </summary>
internal sealed class Lexer
{
    private readonly byte[] _source;
    private readonly LuaString _name;
    private readonly StringPool _strings;
    private readonly CompileBudget _budget;

    private int _at;
    private int _tokenStart;

    /// <summary>The string token read so far, including the delimiters and with resolved escapes.</summary>
    private byte[] _buffer = new byte[64];
    private int _buffered;
    private bool _textInBuffer;

    private TokenData? _ahead;

    public Lexer(byte[] source, LuaString name, StringPool strings, CompileBudget budget)
    {
        _budget = budget;
        _source = source;
        _name = name;
        _strings = strings;
    }

    private readonly record struct TokenData(Token Kind, double Number, LuaString? Text);

    /// <summary>The message of the first error.</summary>
    public string? Error { get; private set; }

    public Token Kind { get; private set; } = Token.Eof;

    public double Number { get; private set; }

    /// <summary>The text of a name or string.</summary>
    public LuaString Text { get; private set; } = LuaString.Empty;

    public int Line { get; private set; } = 1;

    /// <summary>The line of the last consumed token.</summary>
    public int LastLine { get; private set; } = 1;

    private int Current => _at < _source.Length ? _source[_at] : -1;

    private bool AtNewline => Current is '\n' or '\r';

    public void Next()
    {
        LastLine = Line;
        Take(_ahead ?? Scan());
        _ahead = null;
    }

    /// <summary>Returns the kind of the token after the current one.</summary>
    public Token Peek()
    {
        _ahead ??= Scan();
        return Error is null ? _ahead.Value.Kind : Token.Eof;
    }

    /// <summary>Reports an error at the current token.</summary>
    public void SyntaxError(string message) => Fail(message, Kind);

    /// <summary>Reports an error without a token.</summary>
    public void LimitError(string message) => Fail(message, null);

    /// <summary>Reports an error without a position.</summary>
    public void PlainError(string message)
    {
        Error ??= message;
        Take(new TokenData(Token.Eof, 0, null));
    }

    public LuaString Intern(string text) => _strings.Intern(Encoding.Latin1.GetBytes(text));

    private void Take(TokenData token)
    {
        Kind = Error is null ? token.Kind : Token.Eof;
        Number = token.Number;
        Text = token.Text ?? LuaString.Empty;
    }

    private void Fail(string message, Token? near)
    {
        if (Error is not null) return;
        string text = $"{ChunkName.Display(_name, ChunkName.SyntaxRoom)}:{Line}: {message}";
        // Lua treats a zero byte as the absence of a token.
        if (near is { } token && token != 0) text += $" near '{TokenText(token)}'";
        Error = text;
        Take(new TokenData(Token.Eof, 0, null));
        _ahead = null;
    }

    private string TokenText(Token token)
    {
        if (token is not (Token.Name or Token.String or Token.Number)) return Tokens.Text(token);
        // A token may be as long as the source, so the text is limited.
        const int most = 64 << 10;
        ReadOnlySpan<byte> bytes = _textInBuffer ? _buffer.AsSpan(0, _buffered) : _source.AsSpan(_tokenStart, _at - _tokenStart);
        string text = Encoding.Latin1.GetString(bytes[..Math.Min(bytes.Length, most)]);
        int zero = text.IndexOf('\0', StringComparison.Ordinal);
        return zero < 0 ? text : text[..zero];
    }

    private TokenData Scan()
    {
        while (Error is null)
        {
            _tokenStart = _at;
            _textInBuffer = false;
            int c = Current;
            switch (c)
            {
                case -1:
                    return Simple(Token.Eof);
                case '\n' or '\r':
                    SkipNewline();
                    continue;
                case ' ' or '\t' or '\v' or '\f':
                    _at++;
                    continue;
                case '-':
                    _at++;
                    if (Current != '-') return Simple((Token)'-');
                    _at++;
                    SkipComment();
                    continue;
                case '[':
                    int level = SkipSeparator();
                    if (level >= 0) return new TokenData(Token.String, 0, ReadLong(level, comment: false));
                    if (level == -1) return Simple((Token)'[');
                    Fail("invalid long string delimiter", Token.String);
                    continue;
                case '=':
                    return OneOrTwo('=', Token.Equal);
                case '<':
                    return OneOrTwo('<', Token.LessEqual);
                case '>':
                    return OneOrTwo('>', Token.GreaterEqual);
                case '~':
                    return OneOrTwo('~', Token.NotEqual);
                case '"' or '\'':
                    return new TokenData(Token.String, 0, ReadQuoted((byte)c));
                case '.':
                    _at++;
                    if (Accept('.', '.')) return Simple(Accept('.', '.') ? Token.Dots : Token.Concat);
                    return char.IsAsciiDigit((char)(Current & 0xFF)) && Current >= 0 ? ReadNumber() : Simple((Token)'.');
                default:
                    if (char.IsAsciiDigit((char)c)) return ReadNumber();
                    if (IsWordCharacter(c)) return ReadWord();
                    _at++;
                    return Simple((Token)c);
            }
        }
        return Simple(Token.Eof);
    }

    /// <summary>Skips either character, or a zero byte: the strchr of C finds a zero byte in every set.</summary>
    private bool Accept(char one, char other)
    {
        if (Current != one && Current != other && Current != 0) return false;
        _at++;
        return true;
    }

    private static TokenData Simple(Token kind) => new(kind, 0, null);

    private static bool IsWordCharacter(int c) => c == '_' || (c >= 0 && char.IsAsciiLetterOrDigit((char)c));

    private TokenData OneOrTwo(char first, Token withEquals)
    {
        _at++;
        if (Current != '=') return Simple((Token)first);
        _at++;
        return Simple(withEquals);
    }

    private TokenData ReadWord()
    {
        while (IsWordCharacter(Current)) _at++;
        ReadOnlySpan<byte> word = _source.AsSpan(_tokenStart, _at - _tokenStart);
        Token kind = Tokens.Classify(word);
        return kind == Token.Name ? new TokenData(kind, 0, _strings.Intern(word)) : Simple(kind);
    }

    private TokenData ReadNumber()
    {
        while (Current == '.' || (Current >= 0 && char.IsAsciiDigit((char)Current))) _at++;
        if (Accept('e', 'E')) Accept('+', '-');
        while (IsWordCharacter(Current)) _at++;
        if (!LuaNumber.TryParse(_source.AsSpan(_tokenStart, _at - _tokenStart), out double value))
            Fail("malformed number", Token.Number);
        return new TokenData(Token.Number, value, null);
    }

    private void SkipNewline()
    {
        int first = Current;
        _at++;
        if (AtNewline && Current != first) _at++;
        Line++;
    }

    private void SkipComment()
    {
        if (Current == '[')
        {
            int level = SkipSeparator();
            if (level >= 0)
            {
                ReadLong(level, comment: true);
                return;
            }
        }
        while (!AtNewline && Current >= 0) _at++;
    }

    /// <summary>
    /// Reads a bracket and the equals signs after it. Returns their number if the same bracket follows, else -1 -
    /// number.
    /// </summary>
    private int SkipSeparator()
    {
        int bracket = Current, count = 0;
        _at++;
        while (Current == '=')
        {
            _at++;
            count++;
        }
        return Current == bracket ? count : -count - 1;
    }

    private LuaString? ReadLong(int level, bool comment)
    {
        _at++;
        if (AtNewline) SkipNewline();
        int start = _at;
        bool direct = true; // no carriage return so far: the text equals the source
        _buffered = 0;
        while (true)
        {
            switch (Current)
            {
                case -1:
                    Fail(comment ? "unfinished long comment" : "unfinished long string", Token.Eof);
                    return null;
                case '[' when level == 0:
                    if (SkipSeparator() == 0) Fail("nesting of [[...]] is deprecated", (Token)'[');
                    if (Error is not null) return null;
                    continue;
                case ']':
                    int end = _at;
                    if (SkipSeparator() != level) continue;
                    _at++;
                    if (comment) return null;
                    if (direct) return _strings.Intern(_source.AsSpan(start, end - start));
                    Append(_source.AsSpan(start, end - start));
                    return _strings.Intern(_buffer.AsSpan(0, _buffered));
                case '\r':
                case '\n':
                    int newline = _at;
                    SkipNewline();
                    if (_at - newline == 1 && _source[newline] == '\n') continue;
                    if (!comment)
                    {
                        Append(_source.AsSpan(start, newline - start));
                        Append("\n"u8);
                        direct = false;
                    }
                    start = _at;
                    continue;
                default:
                    _at++;
                    continue;
            }
        }
    }

    private LuaString? ReadQuoted(byte quote)
    {
        _textInBuffer = true;
        _buffered = 0;
        Save(quote);
        _at++;
        while (Current != quote)
        {
            switch (Current)
            {
                case -1:
                    Fail("unfinished string", Token.Eof);
                    return null;
                case '\n' or '\r':
                    Fail("unfinished string", Token.String);
                    return null;
                case '\\':
                    _at++;
                    if (!ReadEscape()) return null;
                    continue;
                default:
                    Save(_source[_at++]);
                    continue;
            }
        }
        Save(quote);
        _at++;
        return _strings.Intern(_buffer.AsSpan(1, _buffered - 2));
    }

    private bool ReadEscape()
    {
        int c = Current;
        switch (c)
        {
            case -1:
                return true; // the caller reports it
            case '\n' or '\r':
                Save((byte)'\n');
                SkipNewline();
                return true;
            case >= '0' and <= '9':
                int value = 0;
                for (int i = 0; i < 3 && Current is >= '0' and <= '9'; i++) value = (value * 10) + _source[_at++] - '0';
                if (value > 255)
                {
                    Fail("escape sequence too large", Token.String);
                    return false;
                }
                Save((byte)value);
                return true;
            default:
                Save(c switch
                {
                    'a' => 7,
                    'b' => 8,
                    'f' => 12,
                    'n' => 10,
                    'r' => 13,
                    't' => 9,
                    'v' => 11,
                    _ => (byte)c,
                });
                _at++;
                return true;
        }
    }

    private void Save(byte value)
    {
        if (_buffered == _buffer.Length && !TryGrow(1)) return;
        _buffer[_buffered++] = value;
    }

    /// <summary>
    /// Doubles the buffer. If the memory limit is reached, the error ends the parser and no more bytes are stored.
    /// </summary>
    private bool TryGrow(int count)
    {
        long size = Math.Min(Math.Max(2L * _buffer.Length, (long)_buffered + count), LuaLimits.StringLength);
        if (!_budget.Spend(size))
        {
            PlainError(LuaState.OutOfMemoryMessage);
            return false;
        }
        Array.Resize(ref _buffer, (int)size);
        return true;
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        if (_buffered + bytes.Length > _buffer.Length && !TryGrow(bytes.Length)) return;
        bytes.CopyTo(_buffer.AsSpan(_buffered));
        _buffered += bytes.Length;
    }
}
