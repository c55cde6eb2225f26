//! HTML entities that can be used to spell a tag name.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Entities for a letter of our tag names, a hyphen, an invisible character, or a character used in escapes. All others end a
/// name whether they are decoded or not. Code point, `=`, names.
const TABLE: &str = "
    9=Tab A=NewLine 23=num 25=percnt 26=AMP,amp 3B=semi 5C=bsol 5F=UnderBar,lowbar 7B=lbrace,lcub
    7D=rbrace,rcub AA=ordf AD=shy AF=macr,strns B5=micro C0=Agrave C1=Aacute C2=Acirc C3=Atilde C4=Auml
    C5=Aring,angst C8=Egrave C9=Eacute CA=Ecirc CB=Euml D0=ETH D1=Ntilde D9=Ugrave DA=Uacute DB=Ucirc DC=Uuml
    E0=agrave E1=aacute E2=acirc E3=atilde E4=auml E5=aring E8=egrave E9=eacute EA=ecirc EB=euml F0=eth F1=ntilde
    F9=ugrave FA=uacute FB=ucirc FC=uuml 100=Amacr 101=amacr 102=Abreve 103=abreve 104=Aogon 105=aogon
    10E=Dcaron 10F=dcaron 110=Dstrok 111=dstrok 112=Emacr 113=emacr 116=Edot 117=edot 118=Eogon 119=eogon
    11A=Ecaron 11B=ecaron 11C=Gcirc 11D=gcirc 11E=Gbreve 11F=gbreve 120=Gdot 121=gdot 122=Gcedil 143=Nacute
    144=nacute 145=Ncedil 146=ncedil 147=Ncaron 148=ncaron 14B=eng 154=Racute 155=racute 156=Rcedil 157=rcedil
    158=Rcaron 159=rcaron 15A=Sacute 15B=sacute 15C=Scirc 15D=scirc 15E=Scedil 15F=scedil 160=Scaron 161=scaron
    162=Tcedil 163=tcedil 164=Tcaron 165=tcaron 166=Tstrok 167=tstrok 168=Utilde 169=utilde 16A=Umacr 16B=umacr
    16C=Ubreve 16D=ubreve 16E=Uring 16F=uring 170=Udblac 171=udblac 172=Uogon 173=uogon 174=Wcirc 175=wcirc
    1F5=gacute 311=DownBreve 391=Alpha 395=Epsilon 39D=Nu 3A4=Tau 3B1=alpha 3B5=epsi,epsilon 3B7=eta 3BC=mu
    3C4=tau 3C5=upsi,upsilon 3C9=omega 3F5=epsiv,straightepsilon,varepsilon 401=IOcy 404=Jukcy 405=DScy 410=Acy
    415=IEcy 422=Tcy 430=acy 433=gcy 435=iecy 43F=pcy 442=tcy 448=shcy 451=iocy 453=gjcy 454=jukcy 455=dscy
    200B=NegativeMediumSpace,NegativeThickSpace,NegativeThinSpace,NegativeVeryThinSpace,ZeroWidthSpace
    200C=zwnj 200D=zwj 200E=lrm 200F=rlm 2010=dash,hyphen 2013=ndash 2014=mdash 2015=horbar 2020=dagger
    203E=OverBar,oline 2043=hybull 2060=NoBreak 2061=ApplyFunction,af 2062=InvisibleTimes,it
    2063=InvisibleComma,ic 20DB=TripleDot,tdot 20DC=DotDot 210A=gscr 2115=Nopf,naturals 211B=Rscr,realine
    211C=Re,Rfr,real,realpart 211D=Ropf,reals 212F=escr 2130=Escr,expectation 2145=CapitalDifferentialD,DD
    2146=DifferentialD,dd 2147=ExponentialE,ee,exponentiale 2212=minus 222A=cup 22A4=DownTee,top
    22C3=Union,bigcup,xcup 24C8=circledS,oS 2500=HorizontalLine,boxh 1D49C=Ascr 1D49F=Dscr 1D4A2=Gscr
    1D4A9=Nscr 1D4AE=Sscr 1D4AF=Tscr 1D4B0=Uscr 1D4B2=Wscr 1D4B6=ascr 1D4B9=dscr 1D4C3=nscr 1D4C7=rscr
    1D4C8=sscr 1D4C9=tscr 1D4CA=uscr 1D4CC=wscr 1D504=Afr 1D507=Dfr 1D508=Efr 1D50A=Gfr 1D511=Nfr 1D516=Sfr
    1D517=Tfr 1D518=Ufr 1D51A=Wfr 1D51E=afr 1D521=dfr 1D522=efr 1D524=gfr 1D52B=nfr 1D52F=rfr 1D530=sfr
    1D531=tfr 1D532=ufr 1D534=wfr 1D538=Aopf 1D53B=Dopf 1D53C=Eopf 1D53E=Gopf 1D54A=Sopf 1D54B=Topf 1D54C=Uopf
    1D54E=Wopf 1D552=aopf 1D555=dopf 1D556=eopf 1D558=gopf 1D55F=nopf 1D563=ropf 1D564=sopf 1D565=topf
    1D566=uopf 1D568=wopf
";

/// Entities that need no semicolon, in lower case.
pub(super) const LEGACY: &[&str] = &[
    "amp", "aacute", "acirc", "agrave", "aring", "atilde", "auml", "eth", "eacute", "ecirc",
    "egrave", "euml", "ntilde", "uacute", "ucirc", "ugrave", "uuml", "macr", "micro", "ordf",
    "shy",
];

static NAMES: LazyLock<HashMap<&'static str, char>> = LazyLock::new(|| {
    TABLE
        .split_whitespace()
        .filter_map(|row| row.split_once('='))
        .filter_map(|(code, names)| {
            let code = u32::from_str_radix(code, 16).ok()?;
            Some((char::from_u32(code)?, names))
        })
        .flat_map(|(c, names)| names.split(',').map(move |name| (name, c)))
        .collect()
});

/// The length of the longest name.
pub(super) const MAX_LEN: usize = 24;

/// The length of the longest name that needs no semicolon.
pub(super) const MAX_LEGACY_LEN: usize = 6;

/// Returns the character for `&name;`, if it is relevant.
///
/// The name is also looked up in lower case, because the text may be lower-cased before it is decoded.
pub(super) fn named(name: &str) -> Option<char> {
    NAMES
        .get(name)
        .or_else(|| NAMES.get(name.to_ascii_lowercase().as_str()))
        .copied()
}

/// Returns the character for `&name` without a semicolon, whatever follows.
pub(super) fn legacy(name: &str) -> Option<char> {
    LEGACY
        .iter()
        .any(|legacy| legacy.eq_ignore_ascii_case(name))
        .then(|| named(name))
        .flatten()
}

/// Returns the character for a numeric reference.
pub(super) fn numbered(code: u32) -> char {
    match code {
        // Browsers read these as Windows-1252, others as control characters: a dash or nothing, like a soft hyphen.
        0x96 | 0x97 => '\u{AD}',
        0x8A | 0x9A => 's',
        // Invalid code points decode to nothing.
        _ => char::from_u32(code).unwrap_or('\0'),
    }
}
